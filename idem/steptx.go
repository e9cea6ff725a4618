package idem

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// StepTx commits local rows and the record of the step together: a recovery point whose effect is in this database, exactly once.
// fn gets a full pgx.Tx that it cannot end. The lease is checked in the last statement before COMMIT: a lost one raises an SQL
// error, so that nothing commits whatever fn makes of it. Order and names are those of Call. An open StepTx does not stop the
// heartbeat, and may last longer than the lease.
//
// An error of fn comes back unchanged, and nothing of the step stands. ErrLeaseLost, ErrTxOwned: the same. ErrCommitUnknown:
// whether it committed could be neither confirmed nor excluded; the next run finds out.
func (l *Lease) StepTx(ctx context.Context, name string, fn func(ctx context.Context, tx pgx.Tx) ([]byte, error)) ([]byte, error) {
	output, err := l.stepTx(ctx, name, fn)
	return output, l.report(ctx, "step", err)
}

func (l *Lease) stepTx(ctx context.Context, name string, fn func(ctx context.Context, tx pgx.Tx) ([]byte, error)) ([]byte, error) {
	s, leave, err := l.enterStep(ctx, name)
	if err != nil {
		return nil, err
	}
	defer leave()
	switch {
	case s.finished:
		return bytes.Clone(s.output), nil
	case s.begun:
		return nil, fmt.Errorf("%w: step %q began as a Step, and is a StepTx now", ErrStepOrder, name)
	}
	row := &stepRow{lease: l, step: s}
	budget := engine.Budget{Wait: max(l.op.policy.Wait, 0), Lease: l.op.policy.Lease}
	ended, verdict, err := l.op.shared.engine.Do(ctx, row, budget, func(ctx context.Context, tx pgx.Tx) (bool, error) {
		output, err := fn(withinTx(ctx), tx)
		if err != nil {
			return false, &workError{err}
		}
		row.output = append([]byte{}, output...)
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	s.finished, s.output = true, row.output
	if verdict == engine.Finished { // by an earlier try of this lease whose confirmation was lost
		s.output = ended.(*stepRow).found.Output
	}
	return bytes.Clone(s.output), nil
}

// stepRow is the row of a StepTx as the engine sees it: claimed where the lease stands and the step does not.
type stepRow struct {
	lease  *Lease
	step   *step
	output []byte

	key    *keyRow // as it stands
	found  *gen.StepLoadRow
	probed bool // after a commit that went unanswered
	absent bool // the probe's insert won, so no row stands; what was found is the probe's own
}

func (r *stepRow) Fresh() engine.Row {
	return &stepRow{lease: r.lease, step: r.step, output: r.output}
}

func (r *stepRow) Claim(t *engine.Trip) { r.Load(t) }

// Load reads the step, and after it the key: a step that is found while the lease holds is of the lease's own life of the key.
func (r *stepRow) Load(t *engine.Trip) {
	r.key = r.lease.row().Fresh().(*keyRow)
	arg := gen.StepLoadParams{TenantID: r.key.key.Tenant, Endpoint: r.key.key.Endpoint, Key: r.key.key.ID, Name: r.step.name}
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		found, err := q.StepLoad(ctx, db, arg)
		if err == nil {
			r.found = &found
		}
		return ignoreNoRows(err)
	})
	r.key.Load(t)
}

// holds reports whether the key is the lease's.
func (r *stepRow) holds() bool { return r.key != nil && r.lease.holds(r.key) }

// sameRequest reports whether the key, whoever has it, is still used for the lease's request.
func (r *stepRow) sameRequest() bool {
	return r.key != nil && r.key.loaded != nil && bytes.Equal(r.key.loaded.Fingerprint, r.lease.row().claimed.Fingerprint)
}

// Reclaim is never asked for: no Verdict is Claimable.
func (r *stepRow) Reclaim(*engine.Trip) {}

func (r *stepRow) Complete(t *engine.Trip) {
	k := r.lease.row().key
	arg := gen.StepRecordTxParams{
		Lease: r.lease.grant(), TenantID: k.Tenant, Endpoint: k.Endpoint, Key: k.ID,
		Fence: r.lease.Fence(), ClaimID: r.lease.row().claimID, Position: r.step.position, Name: r.step.name, Output: r.output,
	}
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		_, err := q.StepRecordTx(ctx, db, arg)
		return err
	})
}

func (r *stepRow) Probe(t *engine.Trip) {
	k := r.lease.row().key
	arg := gen.StepProbeParams{Position: r.step.position, TenantID: k.Tenant, Endpoint: k.Endpoint, Key: k.ID, Name: r.step.name}
	t.Add(func(ctx context.Context, db gen.DBTX) error {
		_, err := q.StepProbe(ctx, db, arg)
		r.absent, r.probed = err == nil, true
		return ignoreNoRows(err)
	})
	r.Load(t)
}

func (r *stepRow) MarkUnknown(t *engine.Trip) { r.lease.row().MarkUnknown(t) }

func (r *stepRow) Verdict() (engine.Verdict, error) {
	switch {
	case r.absent: // not for certain: unlike a key's claim the record travels with its COMMIT, and may still arrive
		return engine.Refused, ErrCommitUnknown
	case r.found != nil && r.found.FinishedAt != nil && (r.holds() || r.probed && r.sameRequest()):
		return engine.Finished, nil
	case !r.holds():
		return engine.Refused, ErrLeaseLost
	}
	return engine.Claimed, nil
}

// Mine reports whether the step stands, recorded by this lease.
func (r *stepRow) Mine() bool {
	return !r.absent && r.holds() && r.found != nil && r.found.FinishedAt != nil
}
