package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// turn is one action of a client, until it has its answer or its process has died. What a dead process still says is not recorded.
type turn struct {
	run     *run
	ctx     context.Context
	process *process
	lane    int // in the history: a process is a client of its own
	subject *subject
	action  action

	in     Operation // of its claim
	taking *Entry    // its claim, until the key is taken or refused

	mu     sync.Mutex
	sealed bool
	leave  func() // the gate
}

// turnContext is where a Resolver, which belongs to a Policy, finds the turn that it is called in.
type turnContext struct{}

func (r *run) turn(p *process, lane int, a action) *turn {
	t := &turn{run: r, process: p, lane: lane, subject: r.subjects[a.key], action: a, leave: func() {}}
	t.ctx = context.WithValue(r.b.ctx, turnContext{}, t)
	return t
}

// act does what the action says.
func (t *turn) act() {
	switch t.action.name {
	case "do":
		t.do()
	case "hold":
		t.hold()
	case "takeover":
		t.age()
		t.depart()
		t.hold()
	case "lease":
		t.useLease()
	case "age":
		t.age()
	case "expire":
		t.expire()
	case "sweep":
		t.sweep()
	case "settle":
		t.settle()
	case "operator release":
		t.operatorRelease()
	case "lookup":
		t.lookup()
	case "rows":
		t.rows()
	default:
		t.run.b.t.Errorf("no action is called %q", t.action.name)
	}
	t.depart()
}

// seal ends the turn: nothing that it still does is recorded.
func (t *turn) seal() {
	t.mu.Lock()
	t.sealed = true
	t.mu.Unlock()
	t.depart()
}

// isRecord are the operations that record what was done.
var isRecord = map[Kind]bool{
	Decide: true, Complete: true, CompleteTx: true, Release: true, GiveBack: true, Abandon: true,
	StepBegin: true, StepFinish: true, StepUndo: true, StepTx: true, Settle: true, OperatorRelease: true,
}

// isOver reports whether nobody hears any more what the turn says. mu is held.
func (t *turn) isOver() bool { return t.sealed || t.process.isDead() }

// open records that an operation is sent.
func (t *turn) open(in Operation) *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	in.Key = t.subject.id
	if t.isOver() {
		return NewHistory().Open(t.lane, in) // which nobody reads
	}
	if isRecord[in.Kind] {
		t.process.fuses.light()
	}
	return t.run.history.Open(t.lane, in)
}

// close records what came of it.
func (t *turn) close(e *Entry, out Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isOver() {
		e.Close(out)
	}
}

// closeAs is close for an operation that turned out to be of another kind.
func (t *turn) closeAs(e *Entry, kind Kind, out Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isOver() {
		e.Kind = kind
		e.Close(out)
	}
}

// enter waits at the gate of the key: shared by who works, alone for who lets time pass.
func (t *turn) enter(alone bool) {
	leave := t.subject.gate.RUnlock
	if alone {
		t.subject.gate.Lock()
		leave = t.subject.gate.Unlock
	} else {
		t.subject.gate.RLock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		leave()
		return
	}
	t.leave = sync.OnceFunc(leave)
}

// depart leaves the gate, if the turn is in it.
func (t *turn) depart() {
	t.mu.Lock()
	leave := t.leave
	t.mu.Unlock()
	leave()
}

// linger waits for what others do.
func (t *turn) linger(calls int) {
	if calls == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(t.ctx, 20*time.Millisecond) // the others may be waiting for this one
	defer cancel()
	t.run.history.Await(ctx, calls)
}

// errWork is an error of the work's own.
var errWork = errors.New("the work failed")

// ended is what a call without an answer returned, for the history. Where the database did not answer, nobody can say.
func ended(err error) Result {
	out := told(nil, err)
	if out.Outcome == Unavailable {
		out.Outcome = Unfinished
	}
	return out
}

// told is what a call returned, for the history.
func told(resp *idem.Response, err error) Result {
	switch {
	case err != nil:
		return Result{Outcome: outcome(err), Note: err.Error()}
	case resp == nil:
		return Result{Outcome: OK}
	case resp.Replayed:
		return Result{Outcome: Replayed, Answer: string(resp.Body)}
	}
	return Result{Outcome: First, Answer: string(resp.Body)}
}

func outcome(err error) Outcome {
	for _, o := range []struct {
		err error
		Outcome
	}{
		{nil, OK}, {errWork, Failed}, {idem.ErrMismatch, Mismatch}, {idem.ErrOutcomeUnknown, Unknown}, {idem.ErrInFlight, InFlight},
		{idem.ErrContended, Contended}, {idem.ErrLeaseLost, LeaseLost}, {idem.ErrCommitUnknown, Unfinished}, {idem.ErrUnavailable, Unavailable},
	} {
		if errors.Is(err, o.err) {
			return o.Outcome
		}
	}
	return Outcome(fmt.Sprintf("unexpected: %v", err))
}

// answer is the response that has an output for its body.
func answer(output string, declined bool) *idem.Response {
	if declined {
		return &idem.Response{Status: 402, Body: []byte(output), Failed: true}
	}
	return &idem.Response{Status: 201, Body: []byte(output)}
}
