package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
)

// The answer to a claim comes after the lease that it grants has lapsed, as over a partition that the connection outlives. By then
// the downstream may have been asked by another, which it told of nothing: so nothing starts before the lease is known to stand.
func TestClaimAnsweredAfterItsLeaseStartsNothingUnconfirmed(t *testing.T) {
	b := setup(t)
	const lease = 300 * time.Millisecond
	proxy := new(pgproxy.Proxy)
	policy := idem.Policy{
		Retention: time.Hour, Lease: lease, Settle: lease, Wait: -1, Stale: idem.StaleResolve,
		Resolve: func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
			return idem.Nothing, nil, nil
		},
	}
	far, near := b.throughProxy(proxy, policy), b.newStore(policy)
	charges := func(id string) idem.Work {
		return func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
			_, err := b.pool.Exec(ctx, "INSERT INTO charges (key) VALUES ($1)", id)
			return created(), err
		}
	}
	// late claims id while the answers are held back, and lets them go once meanwhile has returned.
	late := func(b *bundle, id string, claim func() error, meanwhile func()) error {
		b.t.Helper()
		if err := far.Pool.Ping(b.ctx); err != nil { // a connection that stands
			b.t.Fatal(err)
		}
		proxy.StallAnswers(true)
		defer proxy.StallAnswers(false)
		answered := make(chan error, 1)
		go func() { answered <- claim() }()
		b.eventually(func() bool {
			record, err := near.Lookup(b.ctx, b.key(id))
			return err == nil && record.State != idem.StateHeld
		}, "the lease has not lapsed")
		meanwhile()
		proxy.StallAnswers(false)
		return <-answered
	}
	hold := func(b *bundle, id string) func() error {
		return func() error {
			_, err := far.Hold(b.ctx, b.key(id), charges(id))
			return err
		}
	}

	t.Run("another has run", func(t *testing.T) {
		b := b.on(t)
		err := late(b, "run", hold(b, "run"), func() { b.runBy(near, "run", charges("run")) })
		wantIs(t, err, idem.ErrInFlight)
		if _, ok := idem.RetryAfter(err); !ok {
			t.Error("the client is not told to come back")
		}
		if n := b.charges("run"); n != 1 {
			t.Errorf("%d charges, want 1", n)
		}
		if again, err := far.Hold(b.ctx, b.key("run"), holdMustNotRun(t)); err != nil || !again.Replayed {
			t.Errorf("the retry got %+v, %v; want a replay", again, err)
		}
	})
	t.Run("another has run, Claim", func(t *testing.T) {
		b := b.on(t)
		claim := func() error {
			_, _, err := far.Claim(b.ctx, b.key("claim"))
			return err
		}
		wantIs(t, late(b, "claim", claim, func() { b.runBy(near, "claim", charges("claim")) }), idem.ErrInFlight)
	})
	t.Run("nobody came", func(t *testing.T) {
		b := b.on(t)
		if err := late(b, "alone", hold(b, "alone"), func() {}); err != nil {
			t.Error(err)
		}
		if n := b.charges("alone"); n != 1 {
			t.Errorf("%d charges, want 1", n)
		}
	})
}

// runBy calls Hold until Settle has passed and the work has run.
func (b *bundle) runBy(store *idem.Store, id string, work idem.Work) {
	b.t.Helper()
	b.eventually(func() bool {
		_, err := store.Hold(b.ctx, b.key(id), work)
		if err != nil && !errors.Is(err, idem.ErrInFlight) {
			b.t.Fatal(err)
		}
		return err == nil
	}, "Settle never passed")
}
