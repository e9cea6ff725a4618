package model

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// step is one step of the work: local rows in the middle, calls of the downstream around them.
func (t *turn) step(l lease, i int, ending ending) (string, error) {
	t.enter(false)
	defer t.depart()
	if i == 1 {
		return t.stepTx(l, i, ending)
	}
	in := t.under(StepBegin)
	in.Step = i
	begins := t.open(in)
	var finishes, undoes *Entry
	asked := false
	finish := func(output string) {
		in := in
		in.Kind, in.Answer = StepFinish, output
		finishes = t.open(in)
	}
	call := idem.Call{
		Name: stepNames[i],
		Do: func(_ context.Context, downstreamKey string) ([]byte, error) {
			t.close(begins, Result{Outcome: OK})
			switch ending {
			case fails:
				return nil, errWork
			case transient:
				in := in
				in.Kind, in.Asked = StepUndo, asked
				undoes = t.open(in)
				return nil, errGivesBack
			}
			output, err := t.subject.processor.call(t, downstreamKey, in, ending == declines)
			if !t.subject.class.exclusive {
				t.linger(t.action.after)
			}
			if err == nil && (ending == failsAfter || ending == lies) {
				err = errWork
			}
			if err != nil {
				return nil, err
			}
			finish(output)
			return []byte(output), nil
		},
	}
	if t.isAskable(i) {
		call.Ask = func(_ context.Context, downstreamKey string) (idem.Verdict, []byte, error) {
			t.close(begins, Result{Outcome: OK})
			verdict, output := t.subject.processor.ask(downstreamKey)
			asked = verdict == idem.Nothing
			if verdict == idem.Found {
				finish(output)
			}
			return verdict, []byte(output), nil
		}
	}
	output, err := l.Call(t.ctx, call)
	switch {
	case finishes != nil:
		t.close(finishes, ended(err))
	case undoes != nil:
		t.close(undoes, Result{Outcome: OK})
	case err == nil:
		t.closeAs(begins, StepReplay, Result{Outcome: Replayed, Answer: string(output)})
	default: // nothing, if it has begun
		t.close(begins, ended(err))
	}
	return string(output), err
}

// isAskable reports whether a step can be asked about. Where the downstream repeats what it is asked for, a run that cannot ask is to
// leave the step alone.
func (t *turn) isAskable(i int) bool {
	return !t.subject.class.refuses && (i == 0 || t.action.choice >= 2)
}

// stepTx is the step of local rows.
func (t *turn) stepTx(l lease, i int, ending ending) (string, error) {
	in := t.under(StepTx)
	in.Step = i
	in.Answer = Output("booked", in.Request, in.Token)
	in.Row = in.Answer
	e := t.open(in)
	ran := false
	output, err := l.StepTx(t.ctx, stepNames[i], func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
		ran = true
		if _, err := tx.Exec(ctx, insertSQL, t.subject.tenant, t.subject.id, in.Row); err != nil {
			return nil, err
		}
		t.linger(t.action.after)
		if ending == fails {
			return nil, errWork
		}
		return []byte(in.Answer), nil
	})
	if err == nil && !ran {
		t.closeAs(e, StepReplay, Result{Outcome: Replayed, Answer: string(output)})
	}
	t.close(e, ended(err)) // unless it is closed
	return string(output), err
}
