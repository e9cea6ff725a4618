package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment/race"
	"github.com/pgidem/pgidem/lab/report"
)

// A race that is small, with a charge long enough that workers overlap on any machine.
var smallRace = []string{"race", "--workers=4", "--trials=1", "--delay=100ms", "--rounds=1", "--round=50ms"}

func TestRacePrintsTheTables(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(smallRace...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s%s", got, stdout, stderr)
	}
	for _, text := range []string{
		"check-then-insert, READ COMMITTED", "23505 × ", "40001 × ", "8 × = $392.00", // article 000's
		"pgidem Store.Do", "charged × 1, replayed × 3", "predicate locks", "holds     pgidem: Store.Do charges once",
	} {
		if !strings.Contains(stdout.String(), text) {
			t.Errorf("no %q in:\n%s", text, stdout)
		}
	}
	if !strings.Contains(stderr.String(), "race: one key, several workers: ") {
		t.Errorf("no progress in:\n%s", stderr)
	}
}

func TestRaceWritesJSON(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := lab(append(smallRace, "--json")...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("exit code %d\n%s", got, stderr)
	}
	var doc struct {
		Experiment, PostgreSQL string
		Result                 race.Result
		Findings               []report.Finding
	}
	d := json.NewDecoder(stdout)
	if err := d.Decode(&doc); err != nil || d.More() {
		t.Fatalf("not one JSON document: %v", err)
	}
	if doc.Experiment != "race" || doc.PostgreSQL == "" || doc.Result.Workers != 4 || len(doc.Findings) == 0 {
		t.Errorf("%+v", doc)
	}
	if len(doc.Result.Designs) != 11 || len(doc.Result.Bystanders) != 3 || len(doc.Result.Designs[0].Trials) != 1 {
		t.Errorf("%+v", doc.Result)
	}
}

func TestWrongUseOfRaceIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"race now", `unknown command "now"`},
		{"race --speed 9", "unknown flag: --speed"},
		{"race --skip-redis", "unknown flag: --skip-redis"},
		{"race --workers many", `invalid argument "many"`},
		{"race --workers 1", "--workers is 1; it must be 2 to 50"},
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
