package idem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// resolve asks the downstream about a key that lease took for this. It ends in a lease to run under, in an answer, or in
// ErrOutcomeUnknown. A panic of Resolve leaves the key unknown and goes on up.
func (o *operation) resolve(ctx context.Context, lease *Lease) (*Lease, *Response, error) {
	settled := false
	defer func() {
		if !settled {
			_ = lease.abandon(ctx)
		}
	}()
	record, err := o.record(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the key could not be read to ask about it: %w", ErrUnavailable, err)
	}
	verdict, resp, err := o.ask(ctx, lease, record)
	_ = o.report(ctx, "resolve", err)
	switch {
	case err == nil && verdict == Found:
		settled = true
		resp, err = lease.settleAs(ctx, resp)
		return nil, resp, err
	case err == nil && verdict == Nothing:
		raised, err := lease.raise(ctx)
		if err != nil {
			return nil, nil, err
		}
		settled = true
		if raised {
			return lease, nil, nil
		}
		resp, err := lease.recordedAnswer(ctx)
		return nil, resp, err
	}
	// Not decided, unless the displaced holder has completed meanwhile.
	if resp, unfinished := lease.recordedAnswer(ctx); unfinished == nil {
		settled = true
		return nil, resp, nil
	}
	switch {
	case err == nil:
		err = errors.New("it is not decided")
	case o.shared.running.isDraining(): // the next process is to ask
		return nil, nil, errors.Join(ErrUnavailable, ErrDraining, err)
	}
	return nil, nil, fmt.Errorf("%w: the downstream was asked: %w", ErrOutcomeUnknown, err)
}

// ask asks, while the resolver's lease is extended.
func (o *operation) ask(ctx context.Context, lease *Lease, record *Record) (Verdict, *Response, error) {
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	done, err := o.shared.running.hold(lease, func(context.Context) error { cancel(ErrDraining); return nil }) // resolve abandons
	if err != nil {
		return Pending, nil, err
	}
	defer done()
	stop := lease.keepAlive(detached, cancel)
	defer stop()
	held, stopWatch := lease.whileHeld(detached)
	defer stopWatch()
	verdict, resp, err := o.policy.Resolve(withHeld(held, o.shared, o.roomKey()), record)
	if err == nil && resp != nil {
		err = checkAnswer(resp)
	}
	return verdict, resp, err
}

// record reads the key with its request and its steps.
func (o *operation) record(ctx context.Context) (record *Record, err error) {
	k := o.row.key
	err = o.shared.engine.Write(ctx, engine.Bound{}, func(t *engine.Trip) (keep func()) {
		var found gen.KeyLookupRow
		var steps []gen.StepListRow
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			found, err = q.KeyLookup(ctx, db, gen.KeyLookupParams{TenantID: k.Tenant, Endpoint: k.Endpoint, Key: k.ID})
			return err
		})
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			steps, err = q.StepList(ctx, db, gen.StepListParams{TenantID: k.Tenant, Endpoint: k.Endpoint, Key: k.ID})
			return err
		})
		return func() { record = newRecord(o.key, k, found, steps) }
	})
	return record, err
}

// settleAs records what the downstream found. The displaced holder's own answer, if it came first, stands instead.
func (l *Lease) settleAs(ctx context.Context, r *Response) (*Response, error) {
	if r == nil {
		r = new(Response)
	}
	if err := l.enter(leaseCompleting, leaseOpen); err != nil {
		return nil, err
	}
	row := l.row().Fresh().(*keyRow)
	row.claimed, row.answer = l.row().claimed, r
	status, arg := row.completion()
	at, err := l.record(ctx, func(ctx context.Context, db gen.DBTX) (*time.Time, error) {
		return q.KeySettle(ctx, db, gen.KeySettleParams{
			Retention: arg.Retention, ResponseStatus: arg.ResponseStatus, Status: arg.Status, ResponseHeader: arg.ResponseHeader,
			ResponseBody: arg.ResponseBody, ProviderRef: arg.ProviderRef,
			TenantID: arg.TenantID, Endpoint: arg.Endpoint, Key: arg.Key, Fence: arg.Fence, ClaimID: arg.ClaimID,
		})
	})
	switch {
	case err != nil:
		return nil, err
	case at == nil:
		return l.recordedAnswer(ctx)
	}
	l.set(leaseCompleted)
	row.loaded = &gen.KeyLoadRow{Status: status, CompletedAt: at}
	return row.recorded(), nil
}

// raise lifts the fence, so that the displaced holder can do nothing more. false: it has completed, or the key is another's.
func (l *Lease) raise(ctx context.Context) (raised bool, err error) {
	sent := time.Now()
	k := l.row().key
	var fence int64
	err = l.writer(ctx)(func(t *engine.Trip) (keep func()) {
		var now int64
		t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
			now, err = q.KeyRaise(ctx, db, gen.KeyRaiseParams{
				Lease: l.op.policy.Lease, TenantID: k.Tenant, Endpoint: k.Endpoint, Key: k.ID, Fence: l.Fence(), ClaimID: l.row().claimID,
			})
			return ignoreNoRows(err)
		})
		return func() { fence = now }
	})
	if err == nil && fence == 0 {
		fence, err = l.raisedFence(ctx)
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case fence == 0:
		return false, nil
	}
	l.row().claimed.Fence = fence
	l.row().inherited = false // the downstream has done nothing
	l.extended(sent)
	return true, nil
}

// raisedFence is the fence that an earlier try raised and whose answer was lost; 0 where the key is no longer this lease's.
func (l *Lease) raisedFence(ctx context.Context) (int64, error) {
	row, err := l.load(ctx)
	if err != nil || row.loaded == nil || row.loaded.ClaimID != row.claimID || row.loaded.Status != statusInFlight {
		return 0, err
	}
	return row.loaded.Fence, nil
}
