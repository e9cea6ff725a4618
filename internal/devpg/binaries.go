package devpg

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Binaries are the programs of one PostgreSQL.
type Binaries struct {
	Dir   string // holds postgres and initdb
	Major int    // such as 16
}

// environ is this process's environment for programs of PostgreSQL. Variables
// that libpq and the server read are left out, and the locale is C: whoever
// runs the tests gets the same server. (On macOS the postmaster refuses to
// start when the locale is unset.)
func (b Binaries) environ() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "LC_") && !strings.HasPrefix(v, "LANG") {
			env = append(env, v)
		}
	}
	env = append(env, "LC_ALL=C")
	// The packages of @embedded-postgres bring libraries that find one another
	// (libxml2 its ICU) only by this variable. Their mark is this file.
	if _, err := os.Stat(filepath.Join(b.Dir, "..", symlinksFile)); err == nil {
		env = append(env, "LD_LIBRARY_PATH="+filepath.Join(b.Dir, "..", "lib"))
	}
	return env
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspect returns the binaries in dir, or an error when initdb is missing or
// postgres does not run.
func inspect(dir string) (Binaries, error) {
	b := Binaries{Dir: dir}
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return b, err
	}
	cmd := exec.Command(filepath.Join(dir, "postgres"), "--version")
	cmd.Env = b.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return b, fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return b, fmt.Errorf("%s: no version in %q", cmd, out)
	}
	b.Major, err = strconv.Atoi(string(m[1]))
	return b, err
}
