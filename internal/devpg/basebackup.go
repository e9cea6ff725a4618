package devpg

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
)

// ErrNoBasebackup is that no pg_basebackup on this machine can copy a server:
// it must be of the server's major version or a newer one, and the downloaded
// servers bring none.
var ErrNoBasebackup = errors.New("devpg: no pg_basebackup that can copy this server")

const basebackup = "pg_basebackup"

// basebackup finds the PostgreSQL whose pg_basebackup copies servers of b:
// b itself, else one in the places, such as those of a Finder.
func (b Binaries) basebackup(places []string) (Binaries, error) {
	dirs := []string{b.Dir}
	for _, place := range places {
		found, _ := filepath.Glob(place)
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		other := Binaries{Dir: dir}
		cmd := exec.Command(filepath.Join(dir, basebackup), "--version")
		cmd.Env = other.environ()
		out, err := cmd.Output()
		version := versionPattern.FindSubmatch(out)
		if err != nil || version == nil {
			continue
		}
		if other.Major, err = strconv.Atoi(string(version[1])); err == nil && other.Major >= b.Major {
			return other, nil
		}
	}
	return Binaries{}, fmt.Errorf("%w: install that of PostgreSQL %d or newer, or unset PGIDEM_PG_MAJOR", ErrNoBasebackup, b.Major)
}
