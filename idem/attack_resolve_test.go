package idem_test

import (
	"context"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// A resolver's call for its own key would wait for itself.
func TestResolverThatHoldsItsOwnKeyIsToldAtOnce(t *testing.T) {
	b := setup(t)
	var store *idem.Store
	var nested error
	var policy idem.Policy
	policy = resolving(func(ctx context.Context, r *idem.Record) (idem.Verdict, *idem.Response, error) {
		began := time.Now()
		if _, nested = store.Hold(ctx, r.Key, holdMustNotRun(t)); time.Since(began) > policy.Wait/2 {
			t.Errorf("it waited for %v", time.Since(began))
		}
		return idem.Found, created(), nil
	})
	policy.Wait = 20 * time.Second
	store = b.newStore(policy)
	b.abandonedBy(store, "k")
	resp, err := store.Hold(b.ctx, b.key("k"), holdMustNotRun(t))
	if err != nil || resp.Status != 201 {
		t.Errorf("%+v, %v", resp, err)
	}
	wantIs(t, nested, idem.ErrInFlight)
}

// What a claim met at an earlier look is not what it took: here the abandoned key goes before it can be asked about.
func TestKeyThatIsNewIsNotAskedAbout(t *testing.T) {
	b := setup(t)
	policy := resolving(func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
		t.Error("a new key was asked about")
		return idem.Pending, nil, nil
	})
	policy.Wait = 10 * time.Second
	store, key := b.newStore(policy), b.key("k")
	b.abandonedBy(store, "k")
	forget := b.begin() // an operator's, committed while the claim waits for the row
	if _, err := forget.Exec(b.ctx, "DELETE FROM idem.keys WHERE tenant_id = $1", key.Tenant); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := store.Hold(b.ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) { return created(), nil })
		ended <- err
	}()
	b.waitBlocked(1)
	if err := forget.Commit(b.ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
