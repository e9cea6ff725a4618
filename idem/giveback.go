package idem

import (
	"context"
	"fmt"

	"github.com/pgidem/pgidem/gen"
)

// Release says that nothing happened: the key is given back at once, and the next caller runs. If DownstreamKey was asked for,
// something may have happened after all: then the key is left unknown, as Abandon does, and the error is ErrOutcomeUnknown.
// Refused once Complete was tried.
func (l *Lease) Release(ctx context.Context) error {
	if l.current() == leaseOpen && l.handedOut() > 0 {
		if err := l.abandon(ctx); err != nil {
			return l.report(ctx, "release", err)
		}
		return l.report(ctx, "release", fmt.Errorf("%w: a downstream key was handed out, so the key was not given back", ErrOutcomeUnknown))
	}
	return l.report(ctx, "release", l.release(ctx))
}

func (l *Lease) release(ctx context.Context) error {
	if err := l.enter(leaseReleased, leaseOpen, leaseReleased); err != nil {
		return err
	}
	changed, err := l.change(l.writer(ctx), func(ctx context.Context, db gen.DBTX) (int64, error) {
		return q.LeaseRelease(ctx, db, gen.LeaseReleaseParams{
			TenantID: l.row().key.Tenant, Endpoint: l.row().key.Endpoint, Key: l.row().key.ID,
			Fence: l.Fence(), ClaimID: l.row().claimID,
		})
	})
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
	if row.loaded != nil && row.loaded.Status == statusReleased && row.loaded.Fence == l.Fence() {
		return nil // an earlier try whose confirmation was lost
	}
	return ErrLeaseLost
}

// Abandon ends the lease at once because the outcome is unknown: Policy.Stale applies to the next caller. It does nothing after
// Complete or Release, heeds no cancellation, and so is the one to defer.
func (l *Lease) Abandon(ctx context.Context) error {
	return l.report(ctx, "abandon", l.abandon(ctx))
}

func (l *Lease) abandon(ctx context.Context) error {
	if l.enter(leaseAbandoned, leaseOpen) != nil {
		return nil
	}
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
