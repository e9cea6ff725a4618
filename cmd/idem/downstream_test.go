package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A downstream is what the command of idem reconcile asks: it keeps each question, and answers from a file named as the key; where
// there is none the command fails.
type downstream struct{ dir string }

func newDownstream(t *testing.T) *downstream {
	t.Helper()
	return &downstream{t.TempDir()}
}

// command is for --exec.
func (d *downstream) command() string {
	return fmt.Sprintf(`q=$(cat); printf '%%s\n' "$q" >>'%[1]s/questions.jsonl'
		cat "%[1]s/$(printf '%%s' "$q" | sed 's/.*"key":"\([^"]*\)".*/\1/')"`, d.dir)
}

// says has the downstream answer for a key.
func (d *downstream) says(t *testing.T, key, reply string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, key), []byte(reply), 0o600); err != nil {
		t.Fatal(err)
	}
}

// waits has the downstream take its time over a key, until reply is called.
func (d *downstream) waits(t *testing.T, key string) (reply func(string)) {
	t.Helper()
	path := filepath.Join(d.dir, key)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(text string) {
		t.Helper()
		var pipe *os.File
		eventually(t, "the command is there to read", func() bool {
			var err error
			pipe, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err != nil && !errors.Is(err, syscall.ENXIO) {
				t.Fatal(err)
			}
			return err == nil
		})
		defer pipe.Close()
		if _, err := pipe.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
}

// asked are the questions so far.
func (d *downstream) asked(t *testing.T) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, "questions.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	whole := string(text)
	return jsonLines(t, whole[:strings.LastIndex(whole, "\n")+1])
}

// args are those of idem reconcile that asks the downstream about every abandoned key.
func (d *downstream) args(more ...string) []string {
	return slices.Concat([]string{"reconcile", "--exec", d.command(), "--as", "ada", "--settle", "0s"}, more)
}

func (d *downstream) reconcile(t *testing.T, db *testDatabase, more ...string) call {
	t.Helper()
	return cli(t, db.url, d.args(more...)...)
}

// startAsking starts idem reconcile, and returns while the command asks about its nth key.
func (d *downstream) startAsking(t *testing.T, db *testDatabase, n int, more ...string) *process {
	t.Helper()
	p := start(t, db.url, d.args(more...)...)
	p.until(t, "the downstream is asked", func() bool { return len(d.asked(t)) >= n })
	return p
}
