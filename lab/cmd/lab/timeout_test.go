package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/timeout"
	"github.com/pgidem/pgidem/lab/report"
)

var fewTimeouts = []string{"timeout", "--customers=5", "--workers=2", "--strangers=3", "--payments=2"}

func TestTimeoutPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(fewTimeouts...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{
		"pgidem Handler  a new key for each try", "INSERT, article 000", "4 × 409", "Transport, MaxAge 71 h", "told: bought",
		"stores successes", "Make the client come back",
	} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if strings.Contains(stdout.String(), "FAILS") {
		t.Errorf("a finding fails:\n%s", stdout)
	}
	if !strings.Contains(stderr.String(), "timeout: carts that were left: ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestTimeoutWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(append(fewTimeouts, "--json")...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 timeout.Result
		Findings               []report.Finding
	}
	d := json.NewDecoder(stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	r := doc.Result
	if doc.Experiment != "timeout" || doc.PostgreSQL == "" || len(doc.Findings) != 15 ||
		r.Customers != 5 || r.SecondSeconds != 0.1 {
		t.Errorf("%+v", doc)
	}
	if len(r.Nights) != 3 || len(r.Waits) != 5 || len(r.Fewer) != 4 ||
		len(r.Late) != 24 || len(r.Carts) != 5 || len(r.Verdicts) != 3 {
		t.Errorf("%+v", r)
	}
}

func TestTimeoutWrongUseIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"timeout now", `unknown command "now"`},
		{"timeout --speed 9", "unknown flag: --speed"},
		{"timeout --customers 0", "--customers is 0; it must be 1 to 100"},
		{"timeout --second 0s", "--second is 0s; it must be at least 1ms"},
		{"timeout --workers 1", "--workers is 1; it must be 2 to 50"},
		{"timeout --strangers 0", "--strangers is 0; it must be at least 1"},
		{"timeout --payments 0", "--payments is 0; it must be at least 1"},
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
