package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/dirtypool"
	"github.com/pgidem/pgidem/lab/report"
)

func TestDirtyPoolPrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("dirty-pool", "--rounds=1")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{"node-postgres (the article)", "database/sql + lib/pq", "pgxpool, Store.Do", "WARNING 25P01",
		"is refused", "holds"} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
}

func TestDirtyPoolWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("dirty-pool", "--rounds=1", "--json")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 dirtypool.Result
		Findings               []report.Finding
	}
	d := json.NewDecoder(stdout)
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if doc.Experiment != "dirty-pool" || doc.PostgreSQL == "" || doc.Result.Rounds != 1 || len(doc.Findings) == 0 {
		t.Errorf("%+v", doc)
	}
	if len(doc.Result.Writes) != 17 || len(doc.Result.Locks) != 13 {
		t.Errorf("%d scenes with writes, %d with locks; want 17 and 13", len(doc.Result.Writes), len(doc.Result.Locks))
	}
}

func TestDirtyPoolWithWrongUseIsExitCode2(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab("dirty-pool", "--rounds=0")
	if got := code(t, cmd.Run()); got != 2 || !strings.Contains(stderr.String(),
		"--rounds is 0; it must be at least 1") || stdout.Len() > 0 {
		t.Errorf("exit code %d, says %q, prints %q", got, stderr, stdout)
	}
}
