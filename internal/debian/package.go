// Package debian gets the programs and libraries that tests need from Debian's packages.
package debian

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Find returns what local finds. Root, on a machine with apt-get, installs the package where it finds nothing; otherwise the
// error names the command to run. Debian's packages start no service by that.
func Find(name string, local func() (path string, ok bool)) (string, error) {
	if path, ok := local(); ok {
		return path, nil
	}
	none := fmt.Errorf("%s is not on this machine; run: sudo apt-get update && sudo apt-get install -y %s", name, name)
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", none
	}
	unlock, err := lock() // one at a time: go test runs several test binaries at once
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, ok := local(); ok {
		return path, nil
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", name}} {
		cmd := exec.Command(apt, append([]string{"-o", "DPkg::Lock::Timeout=600"}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1") // at runlevel 1 no service starts
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w (apt-get %s: %w)\n%s", none, args[0], err, out)
		}
	}
	if path, ok := local(); ok {
		return path, nil
	}
	return "", none
}

// lock waits for an exclusive lock on a file, which ends with this process or with unlock.
func lock() (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(os.TempDir(), "pgidem-apt.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); {
		case err == nil:
			return func() { _ = file.Close() }, nil
		case !errors.Is(err, syscall.EINTR):
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
	}
}
