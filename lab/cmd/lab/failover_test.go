package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/experiment/failover"
	"github.com/pgidem/pgidem/lab/report"
)

var smallFailover = []string{"failover", "--settled=5", "--in-hand=2", "--late=4"}

// ofFailover runs it, and says whether PostgreSQL could take part.
func ofFailover(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd, out, said := lab(append(smallFailover, args...)...)
	got := code(t, cmd.Run())
	if strings.Contains(said.String()+out.String(), "no pg_basebackup") {
		t.Skip("no pg_basebackup")
	}
	if got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, out, said)
	}
	return out.String(), said.String()
}

func TestFailoverPrintsTheTables(t *testing.T) {
	t.Parallel()
	stdout, stderr := ofFailover(t)
	for _, text := range []string{
		"PostgreSQL async  Postgres claim     charges every call         11     4                    6              6                0",
		"PostgreSQL async  Hold, StaleRerun   refuses a repeat           11     4                    6              0                0",
		"PostgreSQL sync   Hold, StaleRerun   refuses a repeat            7     0                    0              0                0",
		"Redis             Redis SET NX       charges every call         11     4                    6              6                0",
		"this server is a standby", "holds     article 003: A replica promoted without the latest SET",
	} {
		if !strings.Contains(stdout, text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if strings.ContainsAny(stdout+stderr, "\x1b\r") {
		t.Errorf("it writes to a file as to a terminal:\n%q\n%q", stdout, stderr)
	}
	if !strings.Contains(stderr, "failover: PostgreSQL sync: 106 ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestFailoverWritesJSON(t *testing.T) {
	t.Parallel()
	stdout, _ := ofFailover(t, "--json", "--skip-redis")
	var doc struct {
		Experiment, PostgreSQL, Redis string
		Result                        failover.Result
		Findings                      []report.Finding
		Skipped                       []string
	}
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if doc.Experiment != "failover" || doc.PostgreSQL == "" || doc.Redis != "" || len(doc.Findings) == 0 {
		t.Errorf("%+v", doc)
	}
	if r := doc.Result; r.Settled != 5 || r.InHand != 2 || r.Late != 4 || len(r.Failovers) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, f := range doc.Result.Failovers[:2] {
		if f.Skipped != "" || len(f.Rows) != 5 || f.Seconds <= 0 {
			t.Errorf("%+v", f)
		}
	}
	if f := doc.Result.Failovers[2]; f.Skipped != "skipped: --skip-redis" || len(doc.Skipped) != 1 {
		t.Errorf("%+v, %q", f, doc.Skipped)
	}
}

func TestWrongUseOfFailoverIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"failover now", `unknown command "now"`},
		{"failover --speed 9", "unknown flag: --speed"},
		{"failover --late many", `invalid argument "many"`},
		{"failover --settled 0", "--settled is 0; it must be at least 1"},
		{"failover --late 70", "--in-hand and --late are 80 together; they must be at most 70"},
	} {
		t.Run(c.args, func(t *testing.T) {
			cmd, stdout, stderr := lab(strings.Fields(c.args)...)
			if got := code(t, cmd.Run()); got != 2 {
				t.Errorf("exit code %d, want 2", got)
			}
			if !strings.Contains(stderr.String(), c.says) || !strings.Contains(stderr.String(), "--help") || stdout.Len() > 0 {
				t.Errorf("it says %q and prints %q; want %q", stderr, stdout, c.says)
			}
		})
	}
}

// Interrupted while three PostgreSQL servers run, one of them a standby.
func TestInterruptOfFailoverLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "lab-test-") // which the account that the servers run as can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, _ := lab("failover", "--settled=100000", "--skip-redis")
	cmd.Env = append(cmd.Env, "TMPDIR="+dir)
	cmd.Stderr = nil
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := make(chan string, 1) // line that it says, when it has ended
	go func() {
		line := ""
		for lines := bufio.NewScanner(said); lines.Scan(); {
			line = lines.Text()
		}
		last <- line
	}()
	for servers := 0; servers < 3; { // the third is the standby
		select {
		case line := <-last:
			_ = cmd.Wait() // it failed, or not
			if strings.Contains(stdout.String(), "no pg_basebackup") {
				t.Skip("no pg_basebackup")
			}
			t.Fatalf("it ends before three servers run: %s", line)
		case <-time.After(5 * time.Millisecond):
		}
		running, err := filepath.Glob(filepath.Join(dir, "pgidem-*", "data", "postmaster.pid"))
		if err != nil {
			t.Fatal(err)
		}
		servers = len(running)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	line := <-last
	if got := code(t, cmd.Wait()); got != 130 || line != "lab: interrupted" || stdout.Len() > 0 {
		t.Errorf("exit code %d, %q, printed %q; want 130, interrupted, nothing", got, line, stdout)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
