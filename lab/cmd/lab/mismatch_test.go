package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/mismatch"
	"github.com/pgidem/pgidem/lab/report"
)

func TestMismatchPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("mismatch", "--callers=3")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{
		"$9,000 after $49", "charge of $9,000.00", "refund of $49.00", "pgidem HandlerTx (ScopeTenant)", "article 000, no fingerprint",
		`{"chargeId":9007199254740992}`, "holds     pgidem: A replay has the bytes",
	} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if !strings.Contains(stderr.String(), "mismatch: one key, two requests: 24 ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestMismatchWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("mismatch", "--callers=2", "--json")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 mismatch.Result
		Findings               []report.Finding
	}
	d := json.NewDecoder(stdout)
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if doc.Experiment != "mismatch" || doc.PostgreSQL == "" || doc.Result.Callers != 2 || len(doc.Findings) == 0 {
		t.Errorf("%+v", doc)
	}
	if len(doc.Result.Exchanges) != 24 || len(doc.Result.Receipts) != 12 {
		t.Errorf("%d exchanges, %d receipts; want 24 and 12", len(doc.Result.Exchanges), len(doc.Result.Receipts))
	}
}

func TestWrongUseOfMismatchIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"mismatch now", `unknown command "now"`},
		{"mismatch --speed 9", "unknown flag: --speed"},
		{"mismatch --callers 1", "--callers is 1; it must be at least 2"},
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
