package devpg

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDirectoryFallsBackToTmp(t *testing.T) {
	private := t.TempDir()
	if err := os.Chmod(private, 0o700); err != nil {
		t.Fatal(err)
	}
	who := &syscall.Credential{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}
	long := filepath.Join(private, strings.Repeat("x", 90))
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		claim  string
		tmpdir string
		who    *syscall.Credential
		want   string
	}{
		{"the caller's own account uses the caller's own directory", private, nil, private},
		{"another account cannot enter a private directory", private, who, "/tmp"},
		{"a socket's path has a limit", long, nil, "/tmp"},
	} {
		t.Setenv("TMPDIR", c.tmpdir)
		dir, err := makeDir(c.who)
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(dir)
		if filepath.Dir(dir) != c.want {
			t.Errorf("%s: directory %s, want one in %s", c.claim, dir, c.want)
		}
	}
}
