package idem

import (
	"context"
	"errors"
	"fmt"

	"github.com/pgidem/pgidem/gen"
)

// Release says that nothing happened: the key is given back at once, and the next caller runs. If DownstreamKey was asked for, a
// step was begun, or the key was taken from a holder that was given up, something may have happened after all: then the key is
// left unknown, as Abandon does, and the error is ErrOutcomeUnknown. Refused once Complete was tried.
func (l *Lease) Release(ctx context.Context) error {
	if l.current() != leaseOpen || !l.inDoubt() {
		return l.report(ctx, "release", l.release(ctx))
	}
	err := l.abandon(ctx)
	if err == nil {
		err = fmt.Errorf("%w: something may have been done, so the key was not given back", ErrOutcomeUnknown)
	}
	return l.report(ctx, "release", err)
}

// inDoubt reports whether this run, or a holder before it, may have had an effect.
func (l *Lease) inDoubt() bool {
	return l.handedOut() > 0 || l.steps.used() || l.row().inherited
}

// unused ends a lease under which nothing ran.
func (l *Lease) unused(ctx context.Context) error {
	if l.row().inherited {
		return l.abandon(ctx)
	}
	return l.release(ctx)
}

func (l *Lease) release(ctx context.Context) error {
	if err := l.enter(leaseReleased, leaseOpen, leaseReleased); err != nil {
		return err
	}
	arg := gen.LeaseReleaseParams{
		TenantID: l.row().key.Tenant, Endpoint: l.row().key.Endpoint, Key: l.row().key.ID,
		Fence: l.Fence(), ClaimID: l.row().claimID,
	}
	changed, err := l.change(l.writer(ctx),
		// takes the row's lock: a step under way is waited for here, and the next statement's snapshot has it
		func(ctx context.Context, db gen.DBTX) (int64, error) {
			return q.LeaseAbandon(ctx, db, gen.LeaseAbandonParams(arg))
		},
		func(ctx context.Context, db gen.DBTX) (int64, error) { return q.LeaseRelease(ctx, db, arg) },
	)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if changed {
		return nil
	}
	row, err := l.load(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	switch {
	case row.loaded == nil || row.loaded.Fence != l.Fence():
	case row.loaded.Status == statusReleased:
		return nil // an earlier try whose confirmation was lost
	case row.loaded.Status == statusInFlight && row.loaded.ClaimID == row.claimID: // a step stands that was begun and not recorded
		l.set(leaseOpen)
		return errors.Join(ErrOutcomeUnknown, l.abandon(ctx))
	}
	l.set(leaseLost) // so that Hold answers with what stands, and not with what fn says
	return ErrLeaseLost
}

// Abandon ends the lease at once because the outcome is unknown: Policy.Stale applies to the next caller. It does nothing after
// Complete, Release, or a CompleteTx that committed, heeds no cancellation, and so is the one to defer.
func (l *Lease) Abandon(ctx context.Context) error {
	return l.report(ctx, "abandon", l.abandon(ctx))
}

func (l *Lease) abandon(ctx context.Context) error {
	if l.enter(leaseAbandoned, leaseOpen, leaseCompletedTx, leaseHandedOver) != nil {
		return nil
	}
	return l.end(ctx)
}

// handOver leaves the key to the next process, while the work goes on here: what it has begun may yet be recorded, if nobody has
// taken the key by then.
func (l *Lease) handOver(ctx context.Context) error {
	if l.enter(leaseHandedOver, leaseOpen) != nil && l.current() != leaseCompletedTx {
		return nil
	}
	return l.end(ctx)
}

// end moves the end of the lease to now.
func (l *Lease) end(ctx context.Context) error {
	_, err := l.change(l.writer(ctx), func(ctx context.Context, db gen.DBTX) (int64, error) {
		return q.LeaseAbandon(ctx, db, gen.LeaseAbandonParams{
			TenantID: l.row().key.Tenant, Endpoint: l.row().key.Endpoint, Key: l.row().key.ID,
			Fence: l.Fence(), ClaimID: l.row().claimID,
		})
	})
	if err != nil {
		return fmt.Errorf("%w: the lease will lapse by itself: %w", ErrUnavailable, err)
	}
	return nil // a lease that is lost has ended too
}
