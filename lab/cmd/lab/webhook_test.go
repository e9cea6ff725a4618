package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/webhook"
	"github.com/pgidem/pgidem/lab/report"
)

var fewWebhooks = []string{"webhook", "--payments=6", "--copies=3", "--in-hand=4"}

func TestWebhookPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(fewWebhooks...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{
		"claim with the work  event id    unique", "pgidem Store.Do      event id", "within 1 ms",
		"6 events in the hands of 2 processes that are killed", "$294.00", "pgidem Store.Hold",
	} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if strings.Contains(stdout.String(), "FAILS") {
		t.Errorf("a finding fails:\n%s", stdout)
	}
	if !strings.Contains(stderr.String(), "webhook kill: Store.Do, 409: ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestWebhookWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(append(fewWebhooks, "--json")...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 webhook.Result
		Findings               []report.Finding
	}
	d := json.NewDecoder(stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	r := doc.Result
	if doc.Experiment != "webhook" || doc.PostgreSQL == "" || len(doc.Findings) != 14 ||
		r.Payments != 6 || r.Copies != 3 || r.InHand != 4 {
		t.Errorf("%+v", doc)
	}
	if len(r.Keys) != 8 || len(r.Pairs) != 5 || len(r.Deaths) != 6 || r.Deaths[0].LostCents != 6*49_00 || r.Keys[0].Events != 12 {
		t.Errorf("%+v", r)
	}
}

func TestWebhookWrongUseIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"webhook now", `unknown command "now"`},
		{"webhook --speed 9", "unknown flag: --speed"},
		{"webhook --payments 0", "--payments is 0; it must be at least 1"},
		{"webhook --copies 1", "--copies is 1; it must be 2 to 16"},
		{"webhook --copies 17", "--copies is 17; it must be 2 to 16"},
		{"webhook --work -1s", "--work is -1s; it must not be negative"},
		{"webhook --in-hand 101", "--in-hand is 101; it must be 1 to 100"},
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
