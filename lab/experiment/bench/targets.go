package bench

import "github.com/pgidem/pgidem/lab/trials"

// Ratio is how an arm compares with another, and what it is to reach.
type Ratio struct {
	Claim   string        `json:"claim"`
	Arm     string        `json:"arm"`
	Than    string        `json:"than"`
	AtLeast float64       `json:"at_least"`
	Times   trials.Spread `json:"times"` // trial by trial
}

// targets are those of issue 7 that are ratios.
var targets = []Ratio{
	{Arm: hold, Than: redisClaim, AtLeast: 1, Claim: "Lease mode, coalesced, is at least 1.0 times Redis SET NX."},
	{Arm: hold, Than: claim, AtLeast: 2, Claim: "Lease mode, coalesced, is at least 2.0 times three autocommits."},
	{Arm: holdPair, Than: redisPair, AtLeast: 0.8, Claim: "Lease mode without the charge is at least 0.8 times the Redis pair."},
	{Arm: do, Than: transaction, AtLeast: 1.15, Claim: "Atomic mode is at least 1.15 times BeginTx with the same statements."},
	{Arm: batch, Than: redisClaim, AtLeast: 0.75, Claim: "Atomic mode in one round trip is at least 0.75 times Redis SET NX."},
	{Arm: batch, Than: bare, AtLeast: 0.5, Claim: "Atomic mode in one round trip is at least 0.5 times the bare insert."},
	{Arm: replayHold, Than: replayPair, AtLeast: 1.3, Claim: "Store.Hold replays at least 1.3 times as fast as the pair by hand."},
	{Arm: replayDo, Than: replayPair, AtLeast: 1.3, Claim: "Store.Do replays at least 1.3 times as fast as the pair by hand."},
	{
		Arm: replayHold, Than: replaySelect, AtLeast: 0.95,
		Claim: "Store.Hold replays keys seen lately at least 0.95 times as fast as a bare SELECT.",
	},
	{
		Arm: replayDo, Than: replaySelect, AtLeast: 0.95,
		Claim: "Store.Do replays keys seen lately at least 0.95 times as fast as a bare SELECT.",
	},
	{
		Arm: hotHold, Than: hold, AtLeast: 1,
		Claim: "Callers of one new key are no slower than those of distinct ones, with Store.Hold.",
	},
	{Arm: hotDo, Than: do, AtLeast: 1, Claim: "Callers of one new key are no slower than those of distinct ones, with Store.Do."},
	{
		Arm: hotReplayHold, Than: replayHold, AtLeast: 1,
		Claim: "Callers of one finished key are no slower than those of distinct ones, with Store.Hold.",
	},
	{
		Arm: hotReplayDo, Than: replayDo, AtLeast: 1,
		Claim: "Callers of one finished key are no slower than those of distinct ones, with Store.Do.",
	},
}

// compare are the targets whose arms have run.
func (r *Result) compare() []Ratio {
	var all []Ratio
	for _, t := range targets {
		if times := r.ratio(t.Arm, t.Than); times != nil {
			t.Times = *times
			all = append(all, t)
		}
	}
	return all
}
