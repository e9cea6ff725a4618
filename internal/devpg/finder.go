package devpg

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// A Finder finds the programs of a PostgreSQL server: in Bin, on PATH, in the
// usual places, and where there are none it fetches them. The zero value looks
// at this machine; the fields let a test show it another one.
type Finder struct {
	// Bin is a directory that must hold postgres and initdb; nothing else is
	// looked at. Empty, and Major too: $PGIDEM_PG_BIN.
	Bin string

	// Major is the wanted major version. 0, and Bin empty too:
	// $PGIDEM_PG_MAJOR, or any. PATH comes first, then the highest version in
	// the usual places.
	Major int

	// Globs are the usual places. nil: Debian's, Fedora's and Homebrew's.
	Globs []string

	// LookPath finds a program on PATH. nil: exec.LookPath.
	LookPath func(program string) (string, error)

	// Run runs apt-get or npm. nil: (*exec.Cmd).Run.
	Run func(cmd *exec.Cmd) error

	// Euid is the effective user id; only 0 may install. nil: os.Geteuid.
	Euid func() int

	// GOOS is the operating system. Empty: runtime.GOOS.
	GOOS string

	// OSRelease is the file that names this Linux. Empty: /etc/os-release.
	OSRelease string

	// Etc is where apt-get's packages keep their settings. Empty: /etc.
	Etc string

	// Cache is the directory for downloaded servers; the account that runs
	// them must be able to enter it. Empty: /var/cache/pgidem for root, else
	// pgidem in os.UserCacheDir.
	Cache string

	// Progress is told what is being installed or downloaded. nil: os.Stderr.
	Progress io.Writer
}

// usualPlaces are where Debian, the PostgreSQL project's packages for Fedora,
// and Homebrew (ARM and Intel) put servers that are not on PATH.
var usualPlaces = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// Find returns the wanted binaries. When this machine has none, it downloads
// those of a wanted major version from npm; if any version will do it installs
// Debian's, as root on a machine with apt-get. Where it can do neither, the
// error holds the command that the user has to run.
func (f Finder) Find(ctx context.Context) (Binaries, error) {
	f, err := f.withDefaults()
	if err != nil {
		return Binaries{}, err
	}
	if f.Bin != "" {
		b, err := inspect(f.Bin)
		if err != nil {
			return b, fmt.Errorf("devpg: no PostgreSQL server in %s (PGIDEM_PG_BIN): %w", f.Bin, err)
		}
		return b, nil
	}
	if b, ok := f.local(); ok {
		return b, nil
	}
	if f.Major != 0 {
		return f.download(ctx)
	}
	return f.install(ctx)
}

func (f Finder) withDefaults() (Finder, error) {
	if f.Bin == "" && f.Major == 0 {
		f.Bin = os.Getenv("PGIDEM_PG_BIN")
	}
	if v := os.Getenv("PGIDEM_PG_MAJOR"); f.Bin == "" && f.Major == 0 && v != "" {
		major, err := strconv.Atoi(v)
		if err != nil || major <= 0 {
			return f, fmt.Errorf("devpg: PGIDEM_PG_MAJOR is %q; it must be a major version such as 16", v)
		}
		f.Major = major
	}
	if f.Globs == nil {
		f.Globs = usualPlaces
	}
	if f.LookPath == nil {
		f.LookPath = exec.LookPath
	}
	if f.Run == nil {
		f.Run = (*exec.Cmd).Run
	}
	if f.Euid == nil {
		f.Euid = os.Geteuid
	}
	if f.GOOS == "" {
		f.GOOS = runtime.GOOS
	}
	if f.OSRelease == "" {
		f.OSRelease = "/etc/os-release"
	}
	if f.Etc == "" {
		f.Etc = "/etc"
	}
	if f.Progress == nil {
		f.Progress = os.Stderr
	}
	return f, nil
}

// local looks on PATH and in the usual places. A directory without initdb, or
// whose postgres does not run, is passed over.
func (f Finder) local() (Binaries, bool) {
	var found []Binaries
	if path, err := f.LookPath("postgres"); err == nil {
		if b, err := inspect(filepath.Dir(path)); err == nil {
			if f.Major == 0 || f.Major == b.Major {
				return b, true
			}
		}
	}
	for _, glob := range f.Globs {
		dirs, _ := filepath.Glob(glob)
		for _, dir := range dirs {
			if b, err := inspect(dir); err == nil && (f.Major == 0 || f.Major == b.Major) {
				found = append(found, b)
			}
		}
	}
	if len(found) == 0 {
		return Binaries{}, false
	}
	return slices.MaxFunc(found, func(a, b Binaries) int { return a.Major - b.Major }), true
}

// say reports progress in one line.
func (f Finder) say(format string, args ...any) {
	fmt.Fprintf(f.Progress, "devpg: "+format+"\n", args...)
}
