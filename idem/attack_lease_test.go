package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem"
)

// Abandon after a CompleteTx that committed does nothing, also to what Hold answers.
func TestHoldAnswersWithACompleteTxThatWasAbandonedAfterwards(t *testing.T) {
	b := setup(t)
	resp, err := b.store.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		defer func() { _ = l.Abandon(ctx) }()
		tx := b.begin()
		err := l.CompleteTx(ctx, tx, created())
		return nil, errors.Join(err, tx.Commit(ctx))
	})
	if err != nil || resp.Replayed || string(resp.Body) != string(created().Body) {
		t.Errorf("%+v, %v; want the answer that stands", resp, err)
	}
}

// A lease that has ended is not brought back to life: nobody would be there to hold it.
func TestExtendAfterAbandonExtendsNothing(t *testing.T) {
	b := setup(t)
	store := b.newStore(rerun)
	lease := b.held(store, "k")
	if err := lease.Abandon(b.ctx); err != nil {
		t.Fatal(err)
	}
	wantIs(t, lease.Extend(b.ctx), idem.ErrLeaseLost)
	b.held(store, "k")
}

// The step and the giving back meet at the key's row: whoever comes second sees what the first one did.
func TestKeyGivenBackBesideAStepKeepsTheStep(t *testing.T) {
	b := setup(t)
	for name, c := range map[string]struct {
		finish bool
		state  idem.State
	}{
		"begun":    {false, idem.StateAbandoned},
		"recorded": {true, idem.StateReleased},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			lease := b.held(b.store, "k")
			step, q := b.begin(), gen.New()
			record, err := q.KeyLookup(b.ctx, b.pool, gen.KeyLookupParams{TenantID: key.Tenant, Endpoint: key.Endpoint, Key: key.ID})
			if err != nil {
				t.Fatal(err)
			}
			if c.finish { // a StepTx whose COMMIT took its time
				_, err = q.StepRecordTx(b.ctx, step, gen.StepRecordTxParams{Lease: time.Minute, TenantID: key.Tenant, Endpoint: key.Endpoint,
					Key: key.ID, Fence: record.Fence, ClaimID: record.ClaimID, Position: 1, Name: "note", Output: []byte("noted")})
			} else {
				_, err = q.StepBegin(b.ctx, step, gen.StepBeginParams{Lease: time.Minute, TenantID: key.Tenant, Endpoint: key.Endpoint,
					Key: key.ID, Fence: record.Fence, ClaimID: record.ClaimID, Position: 1, Name: "charge"})
			}
			if err != nil {
				t.Fatal(err)
			}
			released := make(chan error, 1)
			go func() { released <- lease.Release(b.ctx) }()
			b.waitBlocked(1)
			if err := step.Commit(b.ctx); err != nil {
				t.Fatal(err)
			}
			err = <-released
			found, lookup := b.store.Lookup(b.ctx, key)
			if lookup != nil || found.State != c.state {
				t.Fatalf("%+v, %v, %v; want %s", found, lookup, err, c.state)
			}
			if c.finish {
				next := b.held(b.store, "k")
				if next.Attempt() != 2 || b.steps(key) != 1 {
					t.Errorf("attempt %d, %d steps; want the life with its step to go on", next.Attempt(), b.steps(key))
				}
			}
		})
	}
}
