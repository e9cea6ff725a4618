package contract

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/internal/testdb"
)

// Program builds the program whose test this is, runs it, and uses each of its routes. It needs a database with the schema, says
// what is missing where there is none, and ends well when it is told to.
func Program(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"--tip": {2, "--help"},
		"serve": {2, "unexpected argument"},
		"--listen=127.0.0.1:0 --database-url=" + testdb.Empty(t): {1, "run idem migrate up"},
	} {
		cmd := exec.CommandContext(t.Context(), path, strings.Fields(line)...)
		said, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want.code || !strings.Contains(string(said), want.says) {
			t.Errorf("%s: exit code %d, %s; want %d, %q", line, code, said, want.code, want.says)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := processor.Start(ctx, path, testdb.URL(t)) // it starts any program that says where it listens
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	for _, path := range []string{"items", "charges"} {
		b := &bundle{T: t, mode: mode{path: path}, url: p.URL, order: "1", key: idemhttp.NewKey()}
		first := b.send(b.request())
		b.wantFirst(first, http.StatusCreated)
		b.wantReplay(b.send(b.request()), first)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("after TERM: %v", err)
	}
}
