package main

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/internal/testdb"
)

// runs runs the API until it ends by itself.
func runs(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	stdout, stderr, code, err := runProgram(t.Context(), "api", env, args...)
	if err != nil {
		t.Fatal(err)
	}
	return stdout, stderr, code
}

func TestWrongUseExitsWith2(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"--tip":           "flag provided but not defined: -tip",
		"serve":           `unexpected argument "serve"`,
		"--guard=perhaps": "it is idem, check-then-act or none",
		"--token=acme":    "it is tenant=token",
		"--token==secret": "it is tenant=token",
		"--lease=long":    "-lease",
		"--order-time":    "flag needs an argument",
		"--stale=maybe":   "-stale",
	} {
		stdout, stderr, code := runs(t, nil, strings.Fields(line)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, says) || !strings.Contains(stderr, "--help") {
			t.Errorf("%s: exit code %d, %q, %q; want 2, %s", line, code, stdout, stderr, says)
		}
	}
}

func TestHelpNamesEveryFlagAndNoPassword(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := runs(t, []string{"DATABASE_URL=postgres://app:hunter2@127.0.0.1:1/shop"}, "--help")
	if code != 0 || stderr != "" || strings.Contains(stdout, "hunter2") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	for _, name := range strings.Fields(`database-url listen until-eof processor processor-timeout order-time guard token retention
		lease wait stale settle steps grace`) {
		if !strings.Contains(stdout, "\n  -"+name) {
			t.Errorf("the help does not name %s:\n%s", name, stdout)
		}
	}
}

func TestDatabaseThatCannotBeUsedExitsWith1AndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for what, run := range map[string]struct{ url, says string }{
		"no schema": {testdb.Empty(t), "run idem migrate up"},
		"no server": {"postgres://app:hunter2@127.0.0.1:1/shop", "connect"},
		"no URL":    {"hunter2", "postgres://user:password@host:port/database"},
	} {
		for _, given := range [][2][]string{{{"DATABASE_URL=" + run.url}, nil}, {nil, {"--database-url", run.url}}} {
			stdout, stderr, code := runs(t, given[0], append(given[1], "--listen=127.0.0.1:0")...)
			if code != 1 || stdout != "" || !strings.HasPrefix(stderr, "api: ") || !strings.Contains(stderr, run.says) || strings.Contains(stderr, "hunter2") {
				t.Errorf("%s: exit code %d, %q, %q; want 1, %s", what, code, stdout, stderr, run.says)
			}
		}
	}
}

// A charge that is under way when the API is told to end is answered.
func TestTermLetsRunningRequestsEnd(t *testing.T) {
	s := open(t)
	s.become(processor.Behaviour{Hold: true})
	paid := make(chan answer, 1)
	go func() {
		a, err := s.tryPost(acme, "k-1", "/charges", charge49)
		if err != nil {
			t.Errorf("the charge: %v", err)
		}
		paid <- a
	}()
	s.eventually("the charge is under way", func() bool { return s.stats().Pending == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- s.api.Stop() }()
	s.eventually("nobody new is let in", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.api.URL, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	s.become(processor.Behaviour{})
	if a := <-paid; a.status != http.StatusCreated {
		t.Errorf("%d %s", a.status, a.body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("after TERM: %v", err)
	}
	s.wantCharges(1)
}
