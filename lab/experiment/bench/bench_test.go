package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/workbench"
)

// quick is for runs whose times are not looked at.
var quick = map[string]string{"fsync": "off"}

func TestBench(t *testing.T) {
	x := &Bench{
		Operations: 16, Workers: 8, Connections: 4, Trials: 1, Counted: 16, Replays: 64, Calls: 2,
		Delays:   []time.Duration{0, 20 * time.Millisecond},
		settings: quick,
	}
	if err := x.Check(); err != nil {
		t.Fatal(err)
	}
	result, err := x.Run(t.Context(), new(workbench.Bench))
	if err != nil {
		t.Fatal(err)
	}
	r := result.(*Result)
	t.Run("EveryArmIsTimedAndChargesEachNewKeyOnce", func(t *testing.T) {
		if len(r.Rows) != len(ids()) {
			t.Fatalf("%d arms, want %d", len(r.Rows), len(ids()))
		}
		for _, row := range r.Rows {
			charges := 0
			switch row.Arm {
			case bare, redisClaim, redisPipelined, claim, transaction, hold, holdAlone, do, batch, riverInsert, dbosWorkflow:
				charges = 16
			case hotHold, hotDo:
				charges = 2
			}
			if len(row.Trials) != 1 || row.CallsASecond.Low <= 0 {
				t.Errorf("%+v", row)
			}
			for _, trial := range row.Trials {
				if trial.Calls != 16 || trial.Charges != charges || trial.KeysCharged != charges || trial.Failed != 0 {
					t.Errorf("%s: %+v; want 16 calls and %d charges", row.Arm, trial, charges)
				}
			}
		}
	})
	t.Run("RoundTripsAndCommitsOfOneCallerAreCountedExactly", func(t *testing.T) {
		for _, want := range []struct {
			arm                  string
			trips, commits, xids float64
		}{
			{bare, 1, 1, 1},
			{redisClaim, 3, 1, 1},
			{redisPipelined, 3, 1, 1},
			{redisPair, 2, 0, 0},
			{claim, 3, 3, 3},
			{transaction, 5, 1, 1},
			{hold, 3, 3, 3},
			{holdAlone, 3, 3, 3},
			{holdPair, 2, 2, 2},
			{do, 3, 1, 1},
			{batch, 1, 1, 1},
			{doPair, 2, 1, 1},
			{claimComplete, 2, 2, 2},
			{heartbeat, 1, 1, 1},
			{replayPair, 1, 1, 0},
			{replaySelect, 1, 1, 0},
			{replayHold, 1, 1, 0},
			{replayDo, 1, 1, 0},
			{largeHold, 2, 2, 2},
			{largeReplay, 1, 1, 0},
		} {
			c := countOf(r.Alone, want.arm)
			if c == nil {
				t.Errorf("%s was not counted", want.arm)
			} else if c.RoundTrips != want.trips || c.Commits != want.commits || c.TransactionIDs != want.xids || c.Callers != 1 {
				t.Errorf("%+v; want %+v", c, want)
			}
		}
	})
	t.Run("CrowdsAreCountedToo", func(t *testing.T) {
		for _, a := range ids() {
			if c := countOf(r.Crowd, a); c == nil || c.Callers != 8 || c.Operations != 16 {
				t.Errorf("%s: %+v", a, c)
			}
		}
		if len(r.Replays) != 2 || r.Replays[0].Operations != 64 {
			t.Errorf("%+v", r.Replays)
		}
	})
	t.Run("EveryRoundTripTakesItsDelay", func(t *testing.T) {
		for arm, trips := range map[string]float64{
			bare: 1, redisClaim: 3, claim: 3, transaction: 5, hold: 3, do: 3, replaySelect: 1, replayDo: 1,
		} {
			i := slices.IndexFunc(r.Delays, func(d Delayed) bool { return d.Arm == arm })
			if i < 0 || len(r.Delays[i].Calls) != 2 {
				t.Fatalf("%s: %+v", arm, r.Delays)
			}
			if far := r.Delays[i].Calls[1]; far.DelaySeconds != 0.02 || far.Seconds.Low < trips*0.02 {
				t.Errorf("%s: %+v; want at least %v round trips of 20 ms", arm, far, trips)
			}
		}
	})
	t.Run("EveryFindingThatMustHoldHolds", func(t *testing.T) {
		s := r.Section()
		if failed := s.Failed(); len(failed) > 0 {
			t.Errorf("%+v", failed)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		if len(s.Findings) != 1+14+1+2+1+7+2 || len(s.Charts) != 3 || len(s.Tables) != 6 {
			t.Errorf("%d findings, %d charts, %d tables", len(s.Findings), len(s.Charts), len(s.Tables))
		}
	})
}

func TestOnlyWhatIsNamedRunsAndWithoutRedisItsArmsSayWhy(t *testing.T) {
	x := &Bench{
		Operations: 8, Workers: 4, Connections: 2, Trials: 1, Counted: 4, Calls: 1, Delays: New().Delays[:1],
		Replays: 1, Only: []string{redisClaim, bare}, settings: quick,
	}
	result, err := x.Run(t.Context(), &workbench.Bench{SkipRedis: true})
	if err != nil {
		t.Fatal(err)
	}
	s := result.Section()
	if len(s.Skipped) != 1 || s.Skipped[0] != "Redis SET NX: skipped: --skip-redis" || len(s.Failed()) > 0 || s.Check() != nil {
		t.Errorf("skipped %q, failed %v, %v", s.Skipped, s.Failed(), s.Check())
	}
	r := result.(*Result)
	if len(r.Rows) != 2 || r.Rows[0].Arm != bare || len(r.Alone) != 1 || len(r.Delays) != 1 || len(r.Ratios) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestSizesThatMakeNoExperimentAreRefused(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		spoil func(*Bench)
		says  string
	}{
		{func(x *Bench) { x.Workers = 1 }, "--workers is 1; it must be at least 2"},
		{func(x *Bench) { x.Operations = 63 }, "--operations is 63; it must be at least 64"},
		{func(x *Bench) { x.Trials = 0 }, "--trials is 0"},
		{func(x *Bench) { x.Counted = -1 }, "--counted is -1"},
		{func(x *Bench) { x.Replays = 0 }, "--replays is 0"},
		{func(x *Bench) { x.Calls = -1 }, "--calls is -1"},
		{func(x *Bench) { x.Connections = 1 }, "--connections is 1; it must be at least 2"},
		{func(x *Bench) { x.Connections = 351 }, "--connections is 351; it must be at most 350"},
		{func(x *Bench) { x.Delays = []time.Duration{-1} }, "--delays has -1ns"},
		{func(x *Bench) { x.Delays = []time.Duration{time.Microsecond} }, "--delays has 1µs"},
		{func(x *Bench) { x.Only = []string{"fast"} }, `--only names "fast"; the arms are bare, redis`},
	} {
		x := New()
		c.spoil(x)
		if err := x.Check(); err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("error %v, want %s", err, c.says)
		}
	}
}
