package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/sweep"
	"github.com/pgidem/pgidem/lab/report"
)

func TestSweepPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("sweep", "--rows=3000", "--beside=100", "--batch=100", "--pairs=2", "--rate=50")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{
		"3,000 expired keys", "beside claims", "95 of 100 within", "after VACUUM",
		"holds     pgidem: A sweep deletes every expired key.",
	} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if !strings.Contains(stderr.String(), "claims beside a sweep, pairs: 2 done in ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestSweepWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("sweep", "--rows=1000", "--batch=50", "--pairs=2", "--json")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 sweep.Result
		Findings               []report.Finding
	}
	d := json.NewDecoder(stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if doc.Experiment != "sweep" || doc.PostgreSQL == "" || len(doc.Findings) != 7 ||
		doc.Result.Rows != 1000 || len(doc.Result.Pairs) != 2 {
		t.Errorf("%+v", doc)
	}
}

func TestWrongUseOfSweepIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"sweep now", `unknown command "now"`},
		{"sweep --skip-redis", "unknown flag: --skip-redis"},
		{"sweep --rows many", `invalid argument "many"`},
		{"sweep --rows 39999", "--rows is 39999; it must be at least 40000"},
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
