package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// install installs Debian's PostgreSQL without starting a cluster of its own.
// It needs root and apt-get; without them the error says what to run.
func (f Finder) install(ctx context.Context) (Binaries, error) {
	none := errors.New("devpg: no PostgreSQL server on this machine; run: " + f.advice())
	if f.Euid() != 0 {
		return Binaries{}, none
	}
	apt, err := f.LookPath("apt-get")
	if err != nil {
		return Binaries{}, none
	}
	// One at a time: go test runs several test binaries at once.
	cache, err := f.cache()
	if err != nil {
		return Binaries{}, err
	}
	if err := makeCache(cache); err != nil {
		return Binaries{}, err
	}
	unlock, err := lock(filepath.Join(cache, "install.lock"))
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	if b, ok := f.local(); ok {
		return b, nil
	}

	f.say("no PostgreSQL server on this machine; installing Debian's package postgresql with apt-get (no cluster is created or started)")
	if err := f.createNoCluster(); err != nil {
		return Binaries{}, err
	}
	for _, args := range [][]string{
		{"update"},
		{"install", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold", "postgresql"},
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // dpkg is not to be killed
		cmd.Stdout, cmd.Stderr = f.Progress, f.Progress
		f.say("%s", strings.Join(append([]string{"apt-get"}, args...), " "))
		if err := f.Run(cmd); err != nil {
			return Binaries{}, fmt.Errorf("devpg: apt-get %s: %w; run: %s", args[0], err, f.advice())
		}
	}
	b, ok := f.local()
	if !ok {
		return b, errors.New("devpg: apt-get has installed package postgresql, but no server is found; name its directory in PGIDEM_PG_BIN")
	}
	f.say("installed PostgreSQL %d in %s", b.Major, b.Dir)
	return b, nil
}

// createNoCluster tells postgresql-common, before it is installed, to create
// no cluster. A file that is there already is the administrator's, and stays.
func (f Finder) createNoCluster() error {
	path := filepath.Join(f.Etc, "postgresql-common", "createcluster.conf")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	if err := os.WriteFile(path, []byte("create_main_cluster = false\n"), 0o644); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	return nil
}

// advice is the command that installs a server on this system.
func (f Finder) advice() string {
	if f.GOOS == "darwin" {
		return "brew install postgresql@17"
	}
	release, _ := os.ReadFile(f.OSRelease)
	var ids string
	for line := range strings.Lines(string(release)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "ID" || name == "ID_LIKE" {
			ids += " " + strings.Trim(value, `"'`)
		}
	}
	for _, id := range strings.Fields(ids) {
		switch id {
		case "debian", "ubuntu":
			return "sudo apt-get update && sudo apt-get install -y postgresql"
		case "fedora", "rhel", "centos":
			return "sudo dnf install -y postgresql-server postgresql-contrib"
		}
	}
	return "your system's package manager to install the PostgreSQL server (on Debian: sudo apt-get update && sudo apt-get install -y postgresql), then name its bin directory in PGIDEM_PG_BIN"
}

// lock waits for an exclusive lock on a file, which ends with this process or
// with unlock.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("devpg: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			file.Close()
			return nil, fmt.Errorf("devpg: lock %s: %w", path, err)
		}
	}
}
