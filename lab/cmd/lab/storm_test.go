package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/storm"
	"github.com/pgidem/pgidem/lab/report"
)

// A storm that is small, and dense enough to charge twice on any machine.
var smallStorm = []string{
	"storm", "--keys=10", "--copies=8", "--workers=20", "--delay=50ms", "--trials=2", "--delays=10ms,50ms", "--delay-keys=5",
}

func TestStormPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(smallStorm...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{
		"check-then-act", "10,255", "Redis SET NX", "Store.Do", // rows
		"a charge takes", "a unit test: one request", "holds     article 003: A single atomic claim",
		"holds     pgidem: Store.Hold charges every payment exactly once",
	} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if strings.ContainsAny(stdout.String()+stderr.String(), "\x1b\r") {
		t.Errorf("it writes to a file as to a terminal:\n%q\n%q", stdout, stderr)
	}
	if !strings.Contains(stderr.String(), "storm: ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestStormWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(append(smallStorm, "--skip-redis", "--json")...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 storm.Result
		Findings               []report.Finding
		Skipped                []string
	}
	d := json.NewDecoder(stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if doc.Experiment != "storm" || doc.PostgreSQL == "" || len(doc.Findings) != 14 || len(doc.Skipped) != 1 {
		t.Errorf("%+v", doc)
	}
	r := doc.Result
	if r.Keys != 10 || r.Copies != 8 || r.Workers != 20 || r.DelaySeconds != 0.05 {
		t.Errorf("%+v", r)
	}
	if len(r.Rows) != 7 || len(r.Slow) != 3 || len(r.Rehearsals) != 3 {
		t.Errorf("%+v", r)
	}
	for _, row := range r.Rows {
		if (row.Skipped != "") != (row.Design == "Redis SET NX") || (row.Skipped == "") != (len(row.Trials) == 2) {
			t.Errorf("%+v", row)
		}
	}
}

func TestWrongUseOfStormIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"storm now", `unknown command "now"`},
		{"storm --speed 9", "unknown flag: --speed"},
		{"storm --keys many", `invalid argument "many"`},
		{"storm --delays 5ms,1ms", "--delays has 1ms; each must be above zero and above the one before it"},
		{"storm --trials 1", "--trials is 1; it must be at least 2"},
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
