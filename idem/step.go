package idem

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// Call is a step that can be asked about: an effect elsewhere, and the question what became of it.
type Call struct {
	// Name is the step's, unique within the work.
	Name string
	// Do has the effect, under the downstream key, and returns what is to be recorded. A refusal of the downstream (a declined
	// card) is an output, not an error.
	Do func(ctx context.Context, downstreamKey string) ([]byte, error)
	// Ask says what became of a Do whose output was not recorded: Found with that output, Nothing, or Pending; an error counts as
	// Pending. nil: it cannot be asked.
	Ask func(ctx context.Context, downstreamKey string) (Verdict, []byte, error)
}

// Step is Call for a downstream that cannot be asked.
func (l *Lease) Step(ctx context.Context, name string, fn func(ctx context.Context, downstreamKey string) ([]byte, error)) ([]byte, error) {
	return l.Call(ctx, Call{Name: name, Do: fn})
}

// Call runs c.Do at most once, on P1's terms, and returns what it returned; a later run of the work gets that from the record.
// Before Do it is recorded that the step begins, and Do's context ends with the lease, so that a holder that was given up starts
// nothing new. It costs two round trips besides Do's own, two writes of the key's row and one of the step's (article 000:
// "Storing the progress of a request requires extra database writes").
//
// Steps are known by name and order: a run that calls others than those recorded gets ErrStepOrder, and nothing new is started.
// They run one after the other, and not inside StepTx or Do.
//
// An error of Do comes back unchanged and leaves the step begun: what it did is unknown. Wrapped in Transient, the step is taken
// back as if it had not begun. A step that an earlier try began and did not record is asked about (Ask): Found is recorded, after
// Nothing Do runs, otherwise it is ErrOutcomeUnknown. Without an Ask it runs again under StaleRerun, for then the downstream
// refuses a repeated key, and is ErrOutcomeUnknown under any other policy.
//
// ErrLeaseLost: the key is another's; what Do did is not recorded here, and the other run finds out. ErrCommitUnknown: Do is
// done, and its record could not be confirmed.
func (l *Lease) Call(ctx context.Context, c Call) ([]byte, error) {
	output, err := l.call(ctx, c)
	return output, l.report(ctx, "step", err)
}

func (l *Lease) call(ctx context.Context, c Call) ([]byte, error) {
	s, leave, err := l.enterStep(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	defer leave()
	if s.finished {
		return bytes.Clone(s.output), nil
	}
	doubtful := s.begun
	if doubtful && c.Ask == nil && l.op.policy.Stale != StaleRerun {
		return nil, fmt.Errorf("%w: step %q began before, and cannot be asked about", ErrOutcomeUnknown, c.Name)
	}
	if err := l.beginStep(ctx, s); err != nil {
		return nil, err
	}
	if s.finished { // by an earlier try whose confirmation was lost
		return bytes.Clone(s.output), nil
	}
	held, stop := l.whileHeld(ctx)
	defer stop()
	key := l.downstreamKey(c.Name)
	if doubtful && c.Ask != nil {
		verdict, output, err := c.Ask(held, key)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: step %q was asked about: %w", ErrOutcomeUnknown, c.Name, err)
		case verdict == Found:
			return l.finishStep(ctx, s, output)
		case verdict != Nothing:
			return nil, fmt.Errorf("%w: step %q was asked about and is not decided", ErrOutcomeUnknown, c.Name)
		}
		doubtful = false
	}
	if l.left() <= 0 { // asking took longer than the lease, or this process stood still; held's own timer may be late to say so
		return nil, errLapsed
	}
	output, err := c.Do(held, key)
	if err != nil {
		if isTransient(err) && !doubtful {
			l.undoStep(ctx, s)
		}
		return nil, &workError{err}
	}
	return l.finishStep(ctx, s, output)
}

// StepJSON is Step for an output that is kept as JSON.
func StepJSON[T any](ctx context.Context, l *Lease, name string, fn func(ctx context.Context, downstreamKey string) (T, error)) (T, error) {
	var result T
	output, err := l.Step(ctx, name, func(ctx context.Context, downstreamKey string) ([]byte, error) {
		made, err := fn(ctx, downstreamKey)
		if err != nil {
			return nil, err
		}
		return json.Marshal(made)
	})
	if err == nil {
		err = json.Unmarshal(output, &result)
	}
	return result, err
}

// beginStep records that s begins, and extends the lease with it; or it finds s recorded.
func (l *Lease) beginStep(ctx context.Context, s *step) error {
	sent := time.Now()
	k := l.row().key
	arg := gen.StepBeginParams{
		Position: s.position, TenantID: k.Tenant, Endpoint: k.Endpoint, Key: k.ID, Name: s.name,
		Lease: l.grant(), Fence: l.Fence(), ClaimID: l.row().claimID,
	}
	fitted, err := l.put(ctx, func(ctx context.Context, db gen.DBTX) (int32, error) { return q.StepBegin(ctx, db, arg) })
	switch {
	case err != nil:
		return fmt.Errorf("%w: step %q was not started: %w", ErrUnavailable, s.name, err)
	case !fitted:
		return l.findRecorded(ctx, s)
	}
	l.extended(sent)
	s.begun = true
	return nil
}

// findRecorded finishes s with what is recorded while the key is this lease's.
func (l *Lease) findRecorded(ctx context.Context, s *step) error {
	found, held, err := l.recordedSteps(ctx)
	if err != nil {
		return fmt.Errorf("%w: step %q was not started: %w", ErrUnavailable, s.name, err)
	}
	for _, r := range found {
		if held && r.Name == s.name && r.FinishedAt != nil {
			s.begun, s.finished, s.output = false, true, r.Output
			return nil
		}
	}
	return ErrLeaseLost
}

// finishStep records what s returned.
func (l *Lease) finishStep(ctx context.Context, s *step, output []byte) ([]byte, error) {
	sent := time.Now()
	k := l.row().key
	arg := gen.StepFinishParams{
		Output: append([]byte{}, output...), TenantID: k.Tenant, Endpoint: k.Endpoint, Key: k.ID, Name: s.name,
		Lease: l.grant(), Fence: l.Fence(), ClaimID: l.row().claimID,
	}
	fitted, err := l.put(ctx, func(ctx context.Context, db gen.DBTX) (int32, error) { return q.StepFinish(ctx, db, arg) })
	if err == nil && !fitted { // recorded by an earlier try whose confirmation was lost, or the lease is
		fitted, err = l.hasRecorded(ctx, s.name)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: step %q: %w", ErrCommitUnknown, s.name, err)
	case !fitted:
		return nil, ErrLeaseLost
	}
	l.extended(sent)
	s.begun, s.finished, s.output = false, true, arg.Output
	return bytes.Clone(arg.Output), nil
}

// hasRecorded reports whether the step is recorded while the key is this lease's: then this lease recorded it.
func (l *Lease) hasRecorded(ctx context.Context, name string) (recorded bool, err error) {
	found, held, err := l.recordedSteps(ctx)
	for _, s := range found {
		recorded = recorded || held && s.Name == name && s.FinishedAt != nil
	}
	return recorded, err
}

// undoStep takes back that s began. If that fails the step stays in doubt, which is safe.
func (l *Lease) undoStep(ctx context.Context, s *step) {
	k := l.row().key
	changed, err := l.change(l.writer(ctx), func(ctx context.Context, db gen.DBTX) (int64, error) {
		return q.StepUndo(ctx, db, gen.StepUndoParams{
			TenantID: k.Tenant, Endpoint: k.Endpoint, Key: k.ID, Name: s.name,
			Lease: l.grant(), Fence: l.Fence(), ClaimID: l.row().claimID,
		})
	})
	if err == nil && changed {
		s.begun = false
	}
}

// put sends one statement that returns a row where it fits.
func (l *Lease) put(ctx context.Context, statement func(context.Context, gen.DBTX) (int32, error)) (fitted bool, err error) {
	err = l.writer(ctx)(func(t *engine.Trip) (keep func()) {
		var place int32
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			place, err = statement(ctx, db)
			return ignoreNoRows(err)
		})
		return func() { fitted = place > 0 }
	})
	return fitted, err
}
