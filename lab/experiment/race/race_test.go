package race

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/workbench"
)

// ran is one small race, which every test reads.
var ran = sync.OnceValues(func() (*Result, error) {
	r := New()
	r.Trials, r.Delay, r.Rounds, r.Round = 2, 100*time.Millisecond, 1, 100*time.Millisecond
	result, err := r.Run(context.Background(), &workbench.Bench{Steps: func(_ string, steps int) (step, ended func()) {
		promised.Add(int64(steps))
		return func() { stepped.Add(1) }, func() {}
	}})
	if err != nil {
		return nil, err
	}
	return result.(*Result), nil
})

var promised, stepped atomic.Int64

func race(t *testing.T) *Result {
	t.Helper()
	result, err := ran()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// trials are those of a design, which there must be.
func trials(t *testing.T, name string) experiment.Trials {
	t.Helper()
	d := race(t).design(name)
	if len(d.Trials) != 2 {
		t.Fatalf("%d trials of %s, want 2", len(d.Trials), name)
	}
	return d.Trials
}

func chargesAgain(t *testing.T, name string) {
	t.Helper()
	for _, trial := range trials(t, name) {
		if trial.Charges < 2 || trial.Charged != trial.Charges || trial.AmountCents != int64(trial.Charges)*price ||
			trial.Failed > 0 {
			t.Errorf("%s: %+v; want several charges and no error", name, trial)
		}
	}
}

func TestCheckThenInsertChargesAgain(t *testing.T)    { chargesAgain(t, readCommitted) }
func TestRepeatableReadDoesNotHelp(t *testing.T)      { chargesAgain(t, repeatableRead) }
func TestForUpdateOnNothingLocksNothing(t *testing.T) { chargesAgain(t, lockMissing) }

func TestForUpdateOnARowThatExistsWorks(t *testing.T) {
	for _, trial := range trials(t, lockExisting) {
		if trial.Charges != 1 || trial.Replays != 8 || trial.Charged != 0 || trial.AmountCents != price {
			t.Errorf("%+v; want eight replays of the charge that was there", trial)
		}
	}
}

// refusesAllOthers: one charge, and a raw error for somebody at least.
func refusesAllOthers(t *testing.T, name, state string) {
	t.Helper()
	for _, trial := range trials(t, name) {
		if trial.Charges != 1 || trial.Charged != 1 || trial.AmountCents != price {
			t.Errorf("%s: %+v; want one charge", name, trial)
		}
		if trial.SQLStates[state] == 0 || trial.SQLStates[state] != trial.Failed || trial.Failed+trial.Replays != 7 {
			t.Errorf("%s: %+v; want %s for the others", name, trial, state)
		}
	}
}

func TestSerializableChargesOnceAndRefusesTheOthers(t *testing.T) {
	refusesAllOthers(t, serializable, "40001")
}

func TestPrimaryKeyBehindASelectIsARaw23505(t *testing.T) {
	refusesAllOthers(t, primaryKey, "23505")
}

func TestOneChargesAndSevenReplay(t *testing.T) {
	for _, name := range []string{serializableRetry, primaryKeyCaught, referee, storeDo, storeHold} {
		for _, trial := range trials(t, name) {
			if trial.Charges != 1 || trial.Charged != 1 || trial.Replays != 7 || trial.AmountCents != price ||
				trial.Contradicted > 0 {
				t.Errorf("%s: %+v; want one charge and seven replays", name, trial)
			}
		}
	}
	if race(t).design(serializableRetry).RunAgain == 0 {
		t.Error("SERIALIZABLE needed no retry loop")
	}
}

func TestOnlySerializableTakesPredicateLocks(t *testing.T) {
	var levels []pgx.TxIsoLevel
	for _, b := range race(t).Bystanders {
		if (b.PredicateLocks > 0) != (b.Isolation == pgx.Serializable) {
			t.Errorf("a report under %s held %d predicate locks", b.Isolation, b.PredicateLocks)
		}
		if len(b.PerSecond) != 1 || b.PerSecond[0] <= 0 || b.Paid == 0 {
			t.Errorf("%+v: it did not run", b)
		}
		if b.Payments == pgx.ReadCommitted && b.RunAgain > 0 {
			t.Errorf("%d payments under READ COMMITTED were run again", b.RunAgain)
		}
		levels = append(levels, b.Payments, b.Isolation)
	}
	const low, high = pgx.ReadCommitted, pgx.Serializable
	if !slices.Equal(levels, []pgx.TxIsoLevel{low, low, high, low, high, high}) {
		t.Errorf("payments and reports under %q", levels)
	}
}

func TestRaceShowsWhatItIsFor(t *testing.T) {
	result := race(t)
	for _, f := range result.Section().Failed() {
		t.Errorf("%s: %s Measured: %s", f.Source, f.Claim, f.Measured)
	}
	if result.Workers != 8 || result.Trials != 2 || result.DelaySeconds != 0.1 || result.Rounds != 1 ||
		result.RoundSeconds != 0.1 {
		t.Errorf("the result tells of another race: %+v", result)
	}
	if promised.Load() == 0 || promised.Load() != stepped.Load() {
		t.Errorf("progress was told of %d steps and made %d", promised.Load(), stepped.Load())
	}
}

func TestSizesThatMakeNoRace(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Error(err)
	}
	for says, change := range map[string]func(*Race){
		"--workers is 1;":  func(r *Race) { r.Workers = 1 },
		"--workers is 51;": func(r *Race) { r.Workers = 51 },
		"--trials is 0;":   func(r *Race) { r.Trials = 0 },
		"--delay is -1s;":  func(r *Race) { r.Delay = -time.Second },
		"--rounds is 0;":   func(r *Race) { r.Rounds = 0 },
		"--round is 0s;":   func(r *Race) { r.Round = 0 },
	} {
		r := New()
		change(r)
		if err := r.Check(); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("error %v, want %s", err, says)
		}
	}
}
