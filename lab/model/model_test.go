package model

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/pgidem/pgidem/idem"
)

// asked is one operation of a history that is written down, and what came of it.
type asked struct {
	in  Operation
	out Result
	// open: it was sent when the one before it was, so that either may have come first.
	open bool
}

// history is one key's, with a second between one operation and the next.
func history(all []asked) []porcupine.Operation {
	var ops []porcupine.Operation
	for i, a := range all {
		at := time.Duration(i) * time.Second
		a.in.At, a.out.At = at, at+time.Second/2
		if a.open {
			a.in.At -= time.Second
		}
		if a.out.Outcome == Unfinished {
			a.out.At = time.Duration(len(all)) * time.Second
		}
		ops = append(ops, porcupine.Operation{ClientId: i, Input: a.in, Call: int64(a.in.At), Output: a.out, Return: int64(a.out.At)})
	}
	return ops
}

func TestModelAllowsAndForbids(t *testing.T) {
	t.Parallel()
	const lease = 10 * time.Second
	do := func(token int, out Outcome, answer string) asked {
		own := Output("row", 0, token)
		return asked{in: Operation{Kind: Do, Token: token, Answer: own, Row: own}, out: Result{Outcome: out, Answer: answer}}
	}
	claim := func(token int, stale idem.StalePolicy, out Outcome, attempt int) asked {
		return asked{
			in:  Operation{Kind: Claim, Token: token, Lease: lease, Stale: stale},
			out: Result{Outcome: out, Fence: int64(token), Attempt: attempt},
		}
	}
	effect := func(token int, out Outcome, answer string) asked {
		return asked{in: Operation{Kind: Effect, Token: token, Answer: answer}, out: Result{Outcome: out, Answer: answer}}
	}
	under := func(kind Kind, token int, answer string, out Result) asked {
		return asked{in: Operation{Kind: kind, Token: token, Fence: int64(token), Lease: lease, Answer: answer}, out: out}
	}
	aged := asked{in: Operation{Kind: Age}, out: Result{Outcome: OK}}
	expired := asked{in: Operation{Kind: Expire}, out: Result{Outcome: OK}}
	rows := func(ids string) asked { return asked{in: Operation{Kind: Rows}, out: Result{Outcome: OK, Rows: ids}} }
	meanwhile := func(a asked) asked {
		a.open = true
		return a
	}
	first, second, ok, lost := Output("row", 0, 1), Output("row", 0, 2), Result{Outcome: OK}, Result{Outcome: LeaseLost}
	made := Output("made", 0, 1)

	for name, test := range map[string]struct {
		legal bool
		all   []asked
	}{
		"a replay":                   {true, []asked{do(1, First, first), do(2, Replayed, first)}},
		"a replay of another answer": {false, []asked{do(1, First, first), do(2, Replayed, second)}},
		"two effects":                {false, []asked{do(1, First, first), do(2, First, second)}},
		"two effects in two lives":   {true, []asked{do(1, First, first), expired, do(2, First, second), rows(first + " " + second)}},
		"a replay past retention":    {false, []asked{do(1, First, first), expired, do(2, Replayed, first)}},
		"an expiry cut off that took effect": {true, []asked{
			do(1, First, first), {in: Operation{Kind: Expire}, out: Result{Outcome: Unfinished}}, do(2, First, second), rows(first + " " + second),
		}},
		"an expiry cut off that did not": {true, []asked{
			do(1, First, first), {in: Operation{Kind: Expire}, out: Result{Outcome: Unfinished}}, do(2, Replayed, first),
		}},
		"in flight before the winner":      {true, []asked{do(1, First, first), meanwhile(do(2, InFlight, ""))}},
		"in flight after the winner":       {false, []asked{do(1, First, first), do(2, InFlight, "")}},
		"a crash that took effect":         {true, []asked{do(1, Unfinished, ""), do(2, Replayed, first), rows(first)}},
		"a crash that did not":             {true, []asked{do(1, Unfinished, ""), do(2, First, second), rows(second)}},
		"a crash that took half an effect": {false, []asked{do(1, Unfinished, ""), do(2, Replayed, first), rows("")}},
		"a crash that came back":           {false, []asked{do(1, Unfinished, ""), do(2, First, second), rows(first + " " + second)}},
		"a refusal that changed nothing":   {true, []asked{do(1, Unavailable, ""), do(2, First, second)}},

		"a takeover after the lease": {true, []asked{claim(1, idem.StaleRerun, Granted, 1), aged, claim(2, idem.StaleRerun, Granted, 2)}},
		"a takeover during the lease": {false, []asked{
			claim(1, idem.StaleRerun, Granted, 1), claim(2, idem.StaleRerun, Granted, 2),
		}},
		"a takeover by a crashed rival": {true, []asked{
			claim(1, idem.StaleRerun, Granted, 1), aged, claim(2, idem.StaleRerun, Unfinished, 0), claim(3, idem.StaleRerun, InFlight, 0),
			under(Extend, 1, "", lost),
		}},
		"a takeover that is refused": {false, []asked{claim(1, idem.StaleRefuse, Granted, 1), aged, claim(2, idem.StaleRefuse, Granted, 2)}},
		"a fence that does not rise": {false, []asked{claim(2, idem.StaleRerun, Granted, 1), aged, claim(1, idem.StaleRerun, Granted, 2)}},
		"a late completion": {true, []asked{
			claim(1, idem.StaleRerun, Granted, 1), effect(1, OK, made), aged, claim(2, idem.StaleRerun, Granted, 2), effect(2, Replayed, made),
			under(Complete, 1, made, lost), under(Complete, 2, made, ok),
		}},
		"a late completion that fits": {false, []asked{
			claim(1, idem.StaleRerun, Granted, 1), effect(1, OK, made), aged, claim(2, idem.StaleRerun, Granted, 2), effect(2, Replayed, made),
			under(Complete, 1, made, ok),
		}},
		"a lapsed completion that nobody was before": {true, []asked{
			claim(1, idem.StaleRerun, Granted, 1), effect(1, OK, made), aged, under(Complete, 1, made, ok),
		}},
		"a displaced holder that completes": {true, []asked{
			claim(1, idem.StaleResolve, Granted, 1), effect(1, OK, made), aged,
			{in: Operation{Kind: Claim, Token: 2, Lease: lease, Stale: idem.StaleResolve}, out: Result{Outcome: Displaced, Fence: 1, Attempt: 2}},
			under(Extend, 1, "", lost), under(Complete, 1, made, ok),
			{in: Operation{Kind: Decide, Token: 2, Verdict: idem.Found, Answer: made}, out: Result{Outcome: Replayed, Answer: made}},
		}},
		"a second effect downstream": {false, []asked{
			claim(1, idem.StaleResolve, Granted, 1), effect(1, OK, made), effect(2, OK, Output("made", 0, 2)),
		}},
		"an answer without its effect": {false, []asked{claim(1, idem.StaleRerun, Granted, 1), under(Complete, 1, made, ok)}},
		"a key given back": {true, []asked{
			claim(1, idem.StaleRefuse, Granted, 1), under(Release, 1, "", ok), claim(2, idem.StaleRefuse, Granted, 1),
		}},
		"a key given back with a step begun": {false, []asked{
			claim(1, idem.StaleRefuse, Granted, 1), under(StepBegin, 1, "", ok), under(Release, 1, "", ok),
		}},
		"a step by who lost the key": {false, []asked{
			claim(1, idem.StaleRerun, Granted, 1), aged, claim(2, idem.StaleRerun, Granted, 2), under(StepBegin, 1, "", ok),
		}},
		"a step of another life": {false, []asked{
			claim(1, idem.StaleRerun, Granted, 1), under(StepReplay, 1, "", Result{Outcome: Replayed, Answer: Output("made", 2, 7)}),
		}},
		"a key that a sweep deleted before its time": {false, []asked{
			do(1, First, first), {in: Operation{Kind: Sweep}, out: ok}, {in: Operation{Kind: Lookup}, out: Result{Outcome: None}},
		}},
		"a key that a sweep deleted": {true, []asked{
			do(1, First, first), expired, {in: Operation{Kind: Sweep}, out: ok}, {in: Operation{Kind: Lookup}, out: Result{Outcome: None}},
		}},
		"a settled key": {true, []asked{
			claim(1, idem.StaleRefuse, Granted, 1), aged, claim(2, idem.StaleRefuse, Unknown, 0), under(Settle, 3, "settled.0.3", ok),
			{in: Operation{Kind: Claim, Token: 4}, out: Result{Outcome: Replayed, Answer: "settled.0.3"}}, under(Complete, 1, made, lost),
		}},
		"a held key that was settled": {false, []asked{claim(1, idem.StaleRefuse, Granted, 1), under(Settle, 3, "settled.0.3", ok)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := porcupine.CheckOperations(Model(), history(test.all)); got != test.legal {
				t.Errorf("allowed: %t", got)
			}
		})
	}
}
