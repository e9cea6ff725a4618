package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/keys"
	"github.com/pgidem/pgidem/lab/report"
)

func TestKeysPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("keys", "--rows=50000", "--payments=10")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{"Filling article 003's table:", "Filling idem.keys:", "UUIDv4", "UUIDv7", "reads/1,000",
		"10        20       10           0       10", "A V4 UUID works."} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if !strings.Contains(stderr.String(), "keys: idem.keys: 100 ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestKeysWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("keys", "--rows=50000", "--payments=5", "--json")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 keys.Result
		Findings               []report.Finding
	}
	d := json.NewDecoder(stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if doc.Experiment != "keys" || doc.PostgreSQL == "" || len(doc.Findings) != 8 ||
		doc.Result.Rows != 50_000 || len(doc.Result.Tables) != 2 {
		t.Errorf("%+v", doc)
	}
}

func TestWrongUseOfKeysIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"keys now", `unknown command "now"`},
		{"keys --skip-redis", "unknown flag: --skip-redis"},
		{"keys --rows many", `invalid argument "many"`},
		{"keys --rows 49999", "--rows is 49999; it must be at least 50000"},
		{"keys --payments 0", "--payments is 0; it must be at least 5"},
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
