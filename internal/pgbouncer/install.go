package pgbouncer

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/pgidem/pgidem/internal/debian"
)

// find returns the program, which is installed where that may be done.
func find() (string, error) { return debian.Find("pgbouncer", local) }

// local looks on PATH, and where Debian puts servers, which an ordinary user's PATH does not name.
func local() (string, bool) {
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		return path, true
	}
	path, err := exec.LookPath("/usr/sbin/pgbouncer")
	return path, err == nil
}

// A version is PgBouncer's, such as 1.18.
type version struct{ major, minor int }

func (v version) hasPreparedStatements() bool { return v.major > 1 || v.minor >= 21 }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// versionOf asks the program, which says "PgBouncer 1.18.0" in its first line.
func versionOf(path string) (version, error) {
	out, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil {
		return version{}, fmt.Errorf("%s --version: %w", path, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	parts := strings.Split(strings.TrimPrefix(line, "PgBouncer "), ".")
	if len(parts) >= 2 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil {
			return version{major, minor}, nil
		}
	}
	return version{}, fmt.Errorf("%s --version says %q", path, line)
}
