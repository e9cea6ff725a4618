package main

import (
	"context"
	"errors"
	"time"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

// finding is what is known about a key after it was asked about.
type finding struct {
	verdict verdict
	answer  *answer          // with found
	why     error            // with pending, where the command gave no verdict
	seen    gen.KeyLookupRow // the key as it was while the command ran
}

// ask runs the command while the key is taken as a resolver takes it: nobody else asks, and the holder that was given up can still
// complete, but start nothing. Afterwards the key is as abandoned as before. An error is the database's.
func (r *reconcile) ask(ctx context.Context, o *operation) (f finding, err error) {
	key := idem.Key{Tenant: o.tenant, Endpoint: o.endpoint, ID: o.key}
	left, err := r.store.Lookup(ctx, key)
	if err != nil || left.State != idem.StateAbandoned {
		f.verdict, err = standing(left, err, verdictPending)
		return f, err
	}
	key.Fingerprint = left.Key.Fingerprint
	policy := idem.Policy{
		Stale: idem.StaleResolve, Settle: max(r.settle, time.Microsecond), Lease: r.lease, Retention: r.retention, Wait: -1,
		Resolve: func(held context.Context, now *idem.Record) (idem.Verdict, *idem.Response, error) {
			held, cancel := context.WithCancelCause(held)
			defer cancel(nil)
			defer context.AfterFunc(ctx, func() { cancel(errInterrupted) })()
			if f.seen, err = o.look(held, r.pool); err == nil {
				f.verdict, f.answer, f.why = r.asker.ask(held, newQuestion(left, now, r.steps))
			}
			return idem.Pending, nil, err // what the verdict changes is written together with its row in idem.audit
		},
	}
	lease, _, claimErr := r.store.With(policy).Claim(ctx, key)
	switch {
	case err != nil: // within Resolve
		return f, err
	case lease != nil: // it was forgotten or given back since: nothing is run
		f.verdict = verdictMovedOn
		return f, lease.Release(ctx)
	case f.verdict == verdictPending:
		if f.verdict, err = r.standing(ctx, o, verdictPending); f.verdict != verdictPending {
			f.why = nil
		}
	case f.verdict != "":
	case claimErr == nil, errors.Is(claimErr, idem.ErrInFlight), errors.Is(claimErr, idem.ErrContended), errors.Is(claimErr, idem.ErrMismatch):
		f.verdict, err = r.standing(ctx, o, verdictTooEarly)
	default:
		err = claimErr
	}
	return f, err
}

// standing is what there is to say about a key that this command did not decide; abandoned is what to say where it is that.
func (r *reconcile) standing(ctx context.Context, o *operation, abandoned verdict) (verdict, error) {
	record, err := r.store.Lookup(ctx, idem.Key{Tenant: o.tenant, Endpoint: o.endpoint, ID: o.key})
	return standing(record, err, abandoned)
}

func standing(record *idem.Record, err error, abandoned verdict) (verdict, error) {
	switch {
	case errors.Is(err, idem.ErrNotFound):
		return verdictMovedOn, nil
	case err != nil:
		return verdictPending, err
	case record.State == idem.StateAbandoned:
		return abandoned, nil
	case record.State == idem.StateHeld:
		return verdictHeld, nil
	}
	return verdictMovedOn, nil
}
