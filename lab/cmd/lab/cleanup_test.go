package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/cleanup"
	"github.com/pgidem/pgidem/lab/report"
)

func TestCleanupPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("cleanup", "--keys=2")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{"25P02", "23514", "Store.Hold, StaleRefuse", "409 outcome-unknown",
		"500 no rows in result set", "idem sweep", "holds"} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
}

func TestCleanupWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("cleanup", "--keys=2", "--json")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 cleanup.Result
		Findings               []report.Finding
	}
	d := json.NewDecoder(stdout)
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if doc.Experiment != "cleanup" || doc.PostgreSQL == "" || doc.Result.Keys != 2 || len(doc.Findings) == 0 {
		t.Errorf("%+v", doc)
	}
	if len(doc.Result.Designs) != 16 || len(doc.Result.Vanished) != 18 {
		t.Errorf("%d designs, %d rows that vanish; want 16 and 18", len(doc.Result.Designs), len(doc.Result.Vanished))
	}
}

func TestCleanupWithWrongUseIsExitCode2(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("cleanup", "--keys=0")
	if got := code(t, cmd.Run()); got != 2 || !strings.Contains(stderr.String(),
		"--keys is 0; it must be at least 1") || stdout.Len() > 0 {
		t.Errorf("exit code %d, says %q, prints %q", got, stderr, stdout)
	}
}
