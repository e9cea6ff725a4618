package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
)

// find asks the processor what has become of the call under a key.
type find func(ctx context.Context, key string) (*processor.Receipt, error)

// asking is the middleware of a route with one call, that of the name. Where the policy is to ask, an abandoned key is asked about
// by find.
func (a *api) asking(call string, find find) *idemhttp.Middleware {
	policy := a.keys.Store.Policy
	if policy.Stale == idem.StaleResolve {
		policy.Resolve = a.resolver(call, find)
	}
	return a.keys.With(policy)
}

// resolver settles a key by what the processor says. What it has taken goes into the books here, as the holder would have written
// it, for nobody will run the handler again; whoever writes second changes nothing.
func (a *api) resolver(call string, find find) idem.Resolver {
	return func(ctx context.Context, r *idem.Record) (idem.Verdict, *idem.Response, error) {
		key := r.DownstreamKey(call)
		verdict, receipt, err := ask(ctx, find, key)
		if verdict != idem.Found {
			return verdict, nil, err
		}
		if receipt.Status != processor.Declined {
			if err := enter(ctx, a.pool, r.Key.Tenant, key, receipt); err != nil {
				return idem.Pending, nil, err
			}
		}
		return idem.Found, answerOf(receipt), nil
	}
}

// ask is what the processor says, as a verdict.
func ask(ctx context.Context, find find, key string) (idem.Verdict, *processor.Receipt, error) {
	receipt, err := find(ctx, key)
	switch {
	case err == nil:
		return idem.Found, receipt, nil
	case errors.Is(err, processor.ErrNothing):
		return idem.Nothing, nil, nil
	case errors.Is(err, processor.ErrPending):
		return idem.Pending, nil, nil
	}
	return idem.Pending, nil, err
}

// enter writes what the processor has taken into the books, once, however often it is called.
func enter(ctx context.Context, db interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, tenant, key string, receipt *processor.Receipt) error {
	_, err := db.Exec(ctx, insertChargeSQL, tenant, receipt.ID, receipt.Charge, receipt.AmountCents, key)
	return err
}

// answerOf is what the client is told about a call that was carried out.
func answerOf(receipt *processor.Receipt) *idem.Response {
	answer := &idem.Response{
		Status:      http.StatusCreated,
		Header:      http.Header{"Content-Type": {"application/json"}},
		Body:        encode(receipt),
		ProviderRef: receipt.ID,
	}
	if receipt.Status == processor.Declined {
		answer.Status, answer.Failed = http.StatusPaymentRequired, true
	}
	return answer
}
