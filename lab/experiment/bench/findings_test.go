package bench

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/trials"
)

// sound is what a machine would measure on which every target is reached.
func sound() *Result {
	r := &Result{Operations: 10, Workers: 2, Connections: 2, Trials: 2, Calls: 1}
	for arm, rate := range map[string]float64{
		bare: 9000, redisClaim: 7000, redisPair: 20000, claim: 2500, transaction: 2500, hold: 7500, holdPair: 17000, holdAlone: 2500,
		do: 3000, batch: 6000, replayPair: 10000, replaySelect: 16000, replayHold: 16000, replayDo: 15500, hotHold: 9000, hotDo: 9000,
		hotReplayHold: 20000, hotReplayDo: 20000,
	} {
		row := Row{Arm: arm, Name: "arm " + arm}
		for _, factor := range []float64{1, 1.1} { // the machine is faster in the second round, for all
			row.Trials = append(row.Trials, Trial{
				Calls: 10, Keys: 10, Charges: 10, KeysCharged: 10, ChargesWanted: 10, Seconds: 1, CallsASecond: rate * factor,
			})
		}
		row.CallsASecond = trials.SpreadOf(row.rates())
		r.Rows = append(r.Rows, row)
	}
	r.Ratios = r.compare()
	for _, arm := range []string{
		claimComplete, doPair, replayHold, replayDo, largeHold, largeReplay, do, heartbeat, hold, holdAlone,
	} {
		r.Alone = append(r.Alone, Count{
			Arm: arm, Name: arm, Callers: 1, Operations: 10, RoundTrips: 2, Messages: 24, WALBytes: 899, Allocations: 39,
			AllocatedBytes: 2 << 20, Updates: 10, HOTUpdates: 10,
		})
	}
	r.Replays = []Count{
		{Arm: replayHold, Name: "Store.Hold, replay", Operations: 100}, {Arm: replayDo, Name: "Store.Do, replay", Operations: 100},
	}
	r.Delays = []Delayed{{Arm: do, Name: "Store.Do", Calls: []Calls{
		{DelaySeconds: 0, Seconds: trials.Spread{Median: 0.001}}, {DelaySeconds: 0.025, Seconds: trials.Spread{Median: 0.082}},
	}}}
	return r
}

func TestSoundResultHoldsInEverything(t *testing.T) {
	findings := sound().findings()
	if len(findings) != 1+14+1+2+1+7+2 {
		t.Errorf("%d findings", len(findings))
	}
	for _, f := range findings {
		if !f.Holds || f.Claim == "" || f.Measured == "" || f.Source != "pgidem" {
			t.Errorf("%+v", f)
		}
	}
}

// slow makes an arm as slow as that, and the machine faster in the second trial as for all.
func slow(r *Result, arm string, rate float64) {
	row := r.row(arm)
	for i, factor := range []float64{1, 1.1} {
		row.Trials[i].CallsASecond = rate * factor
	}
	r.Ratios = r.compare()
}

func TestFindingsFailWithTheirFigures(t *testing.T) {
	const may, must = false, true
	for _, c := range []struct {
		name  string
		spoil func(*Result)
		must  bool
		claim string // its beginning
		says  string
	}{
		{"lease mode is below Redis", func(r *Result) { slow(r, redisClaim, 7600) }, may,
			"Lease mode, coalesced, is at least 1.0", "0.99 times"},
		{"lease mode is below twice the claim", func(r *Result) { slow(r, claim, 3800) }, may,
			"Lease mode, coalesced, is at least 2.0", "1.97"},
		{"the pair is slow", func(r *Result) { slow(r, holdPair, 15000) }, may, "Lease mode without the charge", "0.75"},
		{"atomic mode is slow", func(r *Result) { slow(r, transaction, 2800) }, may, "Atomic mode is at least 1.15", "1.07"},
		{"one round trip is slow", func(r *Result) { slow(r, batch, 5000) }, may,
			"Atomic mode in one round trip is at least 0.75", "0.71"},
		{"one round trip is far from the floor", func(r *Result) { slow(r, bare, 12500) }, may,
			"Atomic mode in one round trip is at least 0.5", "0.48"},
		{"the pair by hand is fast", func(r *Result) { slow(r, replayPair, 12100) }, may, "Store.Do replays at least 1.3", "1.28"},
		{"a SELECT is fast", func(r *Result) { slow(r, replaySelect, 16500) }, may, "Store.Do replays keys seen lately", "0.94"},
		{"a hot key is slow", func(r *Result) { slow(r, hotDo, 2999) }, may,
			"Callers of one new key are no slower than those of distinct ones, with Store.Do", "1.00"},
		{"a finished hot key is slow", func(r *Result) { slow(r, hotReplayHold, 15000) }, may,
			"Callers of one finished key", "0.94"},
		{"a call fails", func(r *Result) { r.row(do).Trials[1].Failed, r.row(do).Trials[1].FirstFailure = 2, "lost" }, must,
			"Every call of every arm", "do: 2 calls failed, the first with lost"},
		{"a key is charged twice", func(r *Result) { r.row(hold).Trials[0].Charges = 11 }, must,
			"Every call of every arm", "hold: 11 charges for 10 keys; want one for each of 10"},
		{"a key is not charged", func(r *Result) { t := &r.row(hold).Trials[0]; t.Charges, t.KeysCharged = 9, 9 }, must,
			"Every call of every arm", "hold: 9 charges for 9 keys"},
		{"a replay takes an id", func(r *Result) { r.Replays[1].TransactionIDs = 0.01 }, must,
			"Replays take no transaction id", "100 replays, 1 transaction ids"},
		{"a replay leaves a dead tuple", func(r *Result) { r.Replays[0].DeadTuples = 3 }, must,
			"Replays take no transaction id", "3 dead tuples"},
		{"a lone caller says more", func(r *Result) { countOf(r.Alone, hold).Messages = 25 }, must,
			"A lone caller", "25.00 messages in 2.00 round trips"},
		{"a lone caller travels more", func(r *Result) { countOf(r.Alone, hold).RoundTrips = 3 }, must,
			"A lone caller", "in 3.00 round trips"},
		{"WAL is long", func(r *Result) { countOf(r.Alone, doPair).WALBytes = 900 }, may,
			"Claim and completion take less than 900 bytes of WAL, in atomic", "900 bytes"},
		{"a claim allocates", func(r *Result) { countOf(r.Alone, claimComplete).Allocations = 60 }, may,
			"Claim and completion take fewer", "60 allocations"},
		{"a replay allocates", func(r *Result) { countOf(r.Alone, replayDo).Allocations = 40 }, may,
			"A replay takes fewer than 40 allocations, in atomic", "40"},
		{"a large answer is copied", func(r *Result) { countOf(r.Alone, largeHold).AllocatedBytes = 3 << 20 }, may,
			"An answer of 1 MiB", "3 MiB"},
		{"an update is not HOT", func(r *Result) { countOf(r.Alone, do).HOTUpdates = 9 }, may,
			"Every update of atomic mode", "9 of 10"},
		{"nothing is updated", func(r *Result) { c := countOf(r.Alone, heartbeat); c.Updates, c.HOTUpdates = 0, 0 }, may,
			"Every heartbeat", "0 of 0"},
		{"a call takes a round trip more", func(r *Result) { r.Delays[0].Calls[1].Seconds.Median = 0.1 }, may,
			"With 25 ms of delay", "100 ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sound()
			c.spoil(r)
			var failed []report.Finding
			for _, f := range r.findings() {
				if !f.Holds {
					failed = append(failed, f)
				}
			}
			if len(failed) != 1 {
				t.Fatalf("%d findings fail: %+v; want one", len(failed), failed)
			}
			if f := failed[0]; !strings.HasPrefix(f.Claim, c.claim) || !strings.Contains(f.Measured, c.says) || f.Must != c.must {
				t.Errorf("%+v; want %q, %q (must: %v)", f, c.claim, c.says, c.must)
			}
		})
	}
}

func TestTargetsNameArmsThatThereAre(t *testing.T) {
	known := map[string]bool{}
	for _, id := range ids() {
		if known[id] {
			t.Errorf("two arms are called %s", id)
		}
		known[id] = true
	}
	for _, target := range targets {
		if !known[target.Arm] || !known[target.Than] || target.AtLeast <= 0 {
			t.Errorf("%+v", target)
		}
	}
	for _, list := range [][]string{faraway, replayArms} {
		for _, id := range list {
			if !known[id] {
				t.Errorf("no arm is called %s", id)
			}
		}
	}
}
