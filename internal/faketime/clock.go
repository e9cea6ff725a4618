// Package faketime moves the clock of a PostgreSQL server that a test starts, with Debian's libfaketime.
package faketime

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pgidem/pgidem/internal/debian"
)

// Clock is a server's wall clock. Its monotonic clock, which time-outs are counted by, is left alone.
type Clock struct {
	t    testing.TB
	file string
	lib  string
}

// New returns a clock that is right until Set.
func New(t testing.TB) *Clock {
	t.Helper()
	lib, err := debian.Find("libfaketime", func() (string, bool) {
		found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
		if len(found) == 0 {
			return "", false
		}
		return found[0], true
	})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pgidem-clock-") // not t.TempDir, which the server's account cannot enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := &Clock{t: t, lib: lib, file: filepath.Join(dir, "offset")}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.Set(0)
	return c
}

// Env is the environment of the server whose clock this is.
func (c *Clock) Env() []string {
	return []string{
		"LD_PRELOAD=" + c.lib,
		"FAKETIME_TIMESTAMP_FILE=" + c.file,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
}

// Set puts the clock ahead of the right time, or behind it, from now on.
func (c *Clock) Set(ahead time.Duration) {
	c.t.Helper()
	next := c.file + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+d", int64(ahead/time.Second)), 0o644); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(next, c.file); err != nil { // never half written
		c.t.Fatal(err)
	}
}
