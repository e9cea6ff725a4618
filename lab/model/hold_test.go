package model

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

const insertSQL = "INSERT INTO effects (tenant, key, id) VALUES ($1, $2, $3)"

// protocol is what the turn's process calls for its key.
func (t *turn) protocol() protocol { return t.run.protocol(t.process.store.With(t.subject.policy())) }

// sends is the operation of a claim by this turn.
func (t *turn) sends(kind Kind, request int) Operation {
	c := t.subject.class
	return Operation{
		Kind: kind, Token: t.run.history.Token(), Request: request,
		Lease: c.policy.Lease, Settle: c.settle(), Stale: c.policy.Stale, Stepped: c.stepped,
	}
}

// do is a call in atomic mode: its effect is a row. On a key of lease mode it takes none that somebody has or had.
func (t *turn) do() {
	t.enter(false)
	t.in = t.sends(Do, t.subject.request(t.action.other))
	kind := "row"
	if t.action.ending == declines {
		kind = "declined"
	}
	t.in.Answer = Output(kind, t.in.Request, t.in.Token)
	if kind == "row" {
		t.in.Row = t.in.Answer
	}
	e := t.open(t.in)
	t.close(e, told(t.protocol().Do(t.ctx, t.subject.key(t.in.Request), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		t.linger(t.action.before)
		if _, err := tx.Exec(ctx, insertSQL, t.subject.tenant, t.subject.id, t.in.Answer); err != nil {
			return nil, err
		}
		t.linger(t.action.after)
		if t.action.ending == fails {
			return nil, errWork
		}
		return answer(t.in.Answer, t.action.ending == declines), nil
	})))
}

// claims sends the claim of a Hold or a Claim. Its request is the one of now, until it is decided.
func (t *turn) claims() idem.Key {
	t.enter(false)
	t.in = t.sends(Claim, t.subject.request(t.action.other))
	t.taking = t.open(t.in)
	return t.subject.key(t.in.Request)
}

// granted records that the key is this turn's.
func (t *turn) granted(l lease) {
	t.in.Fence = l.Fence()
	t.close(t.taking, Result{Outcome: Granted, Fence: l.Fence(), Attempt: l.Attempt()})
	if t.subject.class.stepped || !t.subject.class.exclusive {
		t.depart() // a call without a step is protected by the gate alone
	}
}

// under is an operation of the claim that the turn has.
func (t *turn) under(kind Kind) Operation {
	in := t.in
	in.Kind = kind
	return in
}

// resolve is the Resolver of resolveClass: it records that the holder is displaced, asks, and records that it decides.
func resolve(ctx context.Context, r *idem.Record) (idem.Verdict, *idem.Response, error) {
	t := ctx.Value(turnContext{}).(*turn)
	t.close(t.taking, Result{Outcome: Displaced, Fence: r.Fence, Attempt: r.Attempts})
	t.linger(t.action.before)
	verdict, output := t.subject.processor.ask(r.DownstreamKey(stepNames[0]))
	in := t.under(Decide)
	in.Fence, in.Verdict, in.Answer = r.Fence, verdict, output
	t.taking = t.open(in)
	if verdict != idem.Found {
		return verdict, nil, nil
	}
	return verdict, answer(output, strings.HasPrefix(output, "declined")), nil
}

// hold is a call in lease mode.
func (t *turn) hold() {
	key := t.claims()
	var ending *Entry
	resp, err := t.protocol().Hold(t.ctx, key, func(_ context.Context, l lease) (*idem.Response, error) {
		t.granted(l)
		output, calls, err := t.work(l)
		in := t.under(Complete)
		in.Answer, in.Calls = output, calls
		switch {
		case errors.Is(err, errGivesBack):
			in.Kind = GiveBack
		case err != nil:
			in.Kind = Abandon
		}
		ending = t.open(in)
		if err != nil {
			return nil, err
		}
		return answer(output, strings.HasPrefix(output, "declined")), nil
	})
	result := told(resp, err)
	switch {
	case ending == nil:
		t.close(t.taking, result)
	case ending.Kind != Complete:
		t.close(ending, Result{Outcome: OK})
	case result.Outcome == First:
		t.close(ending, Result{Outcome: OK})
	default:
		t.close(ending, result)
	}
}

// errGivesBack is an error of the work before any effect.
var errGivesBack = idem.Transient(errWork)

// work has the effect of a Hold. It returns its answer, and how many downstream keys it asked for outside of steps.
func (t *turn) work(l lease) (output string, calls int, err error) {
	if !t.subject.class.stepped {
		return t.charge(l)
	}
	outputs := make([]string, Steps)
	for i := range outputs {
		t.linger(t.action.before)
		ending := answers
		if i == t.action.step || t.action.ending == declines {
			ending = t.action.ending
		}
		outputs[i], err = t.step(l, i, ending)
		switch {
		case errors.Is(err, errWork) && ending == lies:
			return "", 0, errGivesBack
		case err != nil:
			return "", 0, err
		}
	}
	t.linger(t.action.after)
	return strings.Join(outputs, "+"), 0, nil
}

// charge is work of one call, without steps.
func (t *turn) charge(l lease) (output string, calls int, err error) {
	t.linger(t.action.before)
	switch t.action.ending {
	case fails:
		return "", 0, errWork
	case transient:
		return "", 0, errGivesBack
	}
	output, err = t.subject.processor.call(t, l.DownstreamKey(stepNames[0]), t.in, t.action.ending == declines)
	t.depart()
	t.linger(t.action.after)
	if err == nil && t.action.ending == failsAfter {
		err = errWork
	}
	return output, 1, err
}
