package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/bench"
	"github.com/pgidem/pgidem/lab/report"
)

func TestBenchPrintsTheTablesOfWhatIsNamed(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("bench", "--only=bare,hold,claim", "--operations=16", "--workers=4", "--connections=2", "--trials=2",
		"--counted=4", "--calls=2", "--delays=1ms,2ms", "--skip-redis")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{
		"16 operations in a trial, 4\ncallers, 2 connections", "times bare insert of the charge", "p50 of a call", "1 ms  2 ms",
		"Counted for one operation, one caller", "Lease mode, coalesced, is at least 2.0 times three",
	} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if strings.Contains(stdout.String(), "River, unique insert") {
		t.Errorf("it ran more than it was to:\n%s", stdout)
	}
	if !strings.Contains(stderr.String(), "timed, turns: 9 done in ") || !strings.Contains(stderr.String(), "counted, arms: ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestBenchWritesJSON(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(t.TempDir(), "cpu.pprof")
	cmd, stdout, stderr := lab("bench", "--only=transaction,do", "--operations=8", "--workers=2", "--connections=2", "--trials=3",
		"--counted=0", "--calls=0", "--skip-redis", "--json", "--cpuprofile="+profile)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 bench.Result
		Findings               []report.Finding
	}
	d := json.NewDecoder(stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	r := doc.Result
	if doc.Experiment != "bench" || doc.PostgreSQL == "" || len(doc.Findings) != 2 || r.Workers != 2 || len(r.Rows) != 2 ||
		len(r.Rows[1].Trials) != 3 || r.Rows[1].CallsASecond.Low <= 0 || len(r.Ratios) != 1 || r.Ratios[0].AtLeast != 1.15 {
		t.Errorf("%+v", doc)
	}
	if written, err := os.Stat(profile); err != nil || written.Size() == 0 {
		t.Errorf("the profile: %v, %v", written, err)
	}
}

func TestWrongUseOfBenchIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"bench now", `unknown command "now"`},
		{"bench --keys 9", "unknown flag: --keys"},
		{"bench --trials many", `invalid argument "many"`},
		{"bench --connections 1", "--connections is 1; it must be at least 2"},
		{"bench --delays 1s,1us", "--delays has 1µs; a delay is a whole number of milliseconds"},
		{"bench --only hold,fold", `--only names "fold"; the arms are bare, redis`},
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
