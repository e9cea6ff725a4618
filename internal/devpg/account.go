package devpg

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// unprivileged returns whom the server runs as: nil, the caller itself, unless
// the caller is root; then user postgres if there is one, else nobody.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("devpg: PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody: %w", err)
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("devpg: user id of %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("devpg: group id of %s: %w", u.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// open reports whether every user may pass through dir and all above it.
func open(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

// longestSocketDir is what macOS leaves of the 104 bytes of a socket's path
// when "/.s.PGSQL.12345" and a final zero are taken off; Linux has 4 more.
const longestSocketDir = 104 - 16

// makeDir makes the server's directory, which only its account can enter:
// below os.TempDir, or below /tmp where that is closed to the account or too
// long for a socket.
func makeDir(who *syscall.Credential) (string, error) {
	base := os.TempDir()
	if len(base) > longestSocketDir-len("/pgidem-1234567890") || (who != nil && !open(base)) {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "pgidem-")
	if err != nil {
		return "", fmt.Errorf("devpg: %w", err)
	}
	if who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			os.Remove(dir)
			return "", fmt.Errorf("devpg: %w", err)
		}
	}
	return dir, nil
}
