package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// standbyOf starts a standby for one test.
func standbyOf(t *testing.T, primary *Server, o StandbyOptions) *Server {
	t.Helper()
	standby, err := primary.Standby(t.Context(), o)
	if errors.Is(err, ErrNoBasebackup) {
		t.Skip("no pg_basebackup")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	return standby
}

func TestStandbyFollowsAndTakesOver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	primary := setup(t, Options{Settings: map[string]string{"synchronous_standby_names": "second", "synchronous_commit": "local"}})
	write := connect(t, primary)
	if _, err := write.Exec(ctx, "CREATE TABLE t (v text); INSERT INTO t VALUES ('before the copy')"); err != nil {
		t.Fatal(err)
	}
	standby := standbyOf(t, primary, StandbyOptions{Name: "second", Settings: map[string]string{"work_mem": "5MB"}})
	read := connect(t, standby)
	// Synchronous, by its name: the commit returns when the standby has it.
	if _, err := write.Exec(ctx, "SET synchronous_commit = remote_apply; INSERT INTO t VALUES ('after it')"); err != nil {
		t.Fatal(err)
	}
	if got := values(t, read); got != "after it,before the copy" {
		t.Errorf("the standby has %q", got)
	}
	_, err := read.Exec(ctx, "INSERT INTO t VALUES ('on the standby')")
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a standby takes a write: %v", err)
	}
	if err := primary.Promote(ctx); err == nil || !strings.Contains(err.Error(), "recovery is not in progress") {
		t.Errorf("a primary is promoted: %v", err)
	}

	primary.Kill()
	if err := standby.Promote(ctx); err != nil {
		t.Fatal(err)
	}
	bounded, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := read.Exec(bounded, "SET synchronous_commit = on; INSERT INTO t VALUES ('promoted')"); err != nil {
		t.Errorf("the promoted standby takes no writes, or waits for the name that the primary waited for: %v", err)
	}
	if got := values(t, read); got != "after it,before the copy,promoted" {
		t.Errorf("the promoted standby has %q", got)
	}
	var setting string
	if err := read.QueryRow(ctx, "SHOW work_mem").Scan(&setting); err != nil || setting != "5MB" {
		t.Errorf("work_mem is %q (%v), want the standby's own 5MB", setting, err)
	}
}

// values are the rows of t.
func values(t *testing.T, conn *pgx.Conn) (all string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT string_agg(v, ',' ORDER BY v) FROM t").Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestStandbyOutlivesItsPrimaryAndLeavesNothing(t *testing.T) {
	tmp := openTemp(t)
	primary, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	standby := standbyOf(t, primary, StandbyOptions{})
	if err := primary.Stop(); err != nil {
		t.Fatal(err)
	}
	connect(t, standby)
	if err := standby.Stop(); err != nil {
		t.Fatal(err)
	}
	if names := left(t, tmp); len(names) != 0 {
		t.Errorf("left behind: %s", names)
	}
	eventually(t, gone, "no process is left", func() bool { return len(using(tmp)) == 0 })
}

func TestStandbyThatCannotReachItsPrimarySaysWhyAndLeavesNothing(t *testing.T) {
	tmp := openTemp(t)
	primary := setup(t, Options{})
	before := left(t, tmp)
	for through, says := range map[string]string{"127.0.0.1:1": "refused", "nowhere": "missing port"} {
		_, err := primary.Standby(t.Context(), StandbyOptions{Through: through})
		if errors.Is(err, ErrNoBasebackup) {
			t.Skip("no pg_basebackup")
		}
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), primary.password) {
			t.Errorf("through %s: %v; want that it says %q, and no password", through, err, says)
		}
	}
	if names := left(t, tmp); len(names) != len(before) {
		t.Errorf("left behind: %s, of them before %s", names, before)
	}
}

func TestBasebackupIsOfTheServersVersionOrNewer(t *testing.T) {
	t.Parallel()
	places := t.TempDir()
	put := func(name string, major int) string {
		dir := filepath.Join(places, name, "bin")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		program := fmt.Sprintf("#!/bin/sh\necho 'pg_basebackup (PostgreSQL) %d.4'\n", major)
		if major == 0 {
			program = "#!/bin/sh\nexit 1\n"
		}
		if err := os.WriteFile(filepath.Join(dir, basebackup), []byte(program), 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	broken, old, fit := put("a", 0), put("b", 15), put("c", 17)
	globs := []string{filepath.Join(places, "*", "bin")}
	for _, c := range []struct {
		server Binaries
		want   string // empty: there is none
	}{
		{Binaries{Dir: old, Major: 15}, old},                   // its own
		{Binaries{Dir: broken, Major: 15}, old},                // its own does not run
		{Binaries{Dir: filepath.Join(places), Major: 16}, fit}, // it has none, and 15 is too old
		{Binaries{Dir: filepath.Join(places), Major: 18}, ""},  // so is 17
	} {
		got, err := c.server.basebackup(globs)
		if got.Dir != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrNoBasebackup) {
			t.Errorf("for %+v: %+v, %v; want %q", c.server, got, err, c.want)
		}
	}
}

// TestStandbyDoesNotOutliveItsProcess kills a process that copies a server, and
// one that has.
func TestStandbyDoesNotOutliveItsProcess(t *testing.T) {
	binaries, err := Finder{}.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := binaries.basebackup(usualPlaces); err != nil {
		t.Skip("no pg_basebackup")
	}
	for _, moment := range []string{"pid", "data/base/1", "data/postmaster.pid"} {
		tmp := openTemp(t)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childMode+"=standby")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, time.Minute, "two servers get to "+moment, func() bool {
			at, _ := filepath.Glob(filepath.Join(tmp, "pgidem-*", moment))
			return len(at) == 2
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		eventually(t, gone, "after "+moment+" nothing is left", func() bool { return len(left(t, tmp)) == 0 })
		eventually(t, gone, "after "+moment+" no process is left", func() bool { return len(using(tmp)) == 0 })
	}
}
