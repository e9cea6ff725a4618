package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// A holder that slept until its key was used for another request is told so, and not what that request's steps returned.
func TestStaleHolderGetsNoStepOfAnotherLife(t *testing.T) {
	b := setup(t)
	output := func(text string) func(context.Context, pgx.Tx) ([]byte, error) {
		return func(context.Context, pgx.Tx) ([]byte, error) { return []byte(text), nil }
	}
	for name, step := range map[string]func(*idem.Lease) ([]byte, error){
		"StepTx": func(l *idem.Lease) ([]byte, error) { return l.StepTx(b.ctx, "note", output("its own")) },
		"Step": func(l *idem.Lease) ([]byte, error) {
			return l.Step(b.ctx, "note", func(context.Context, string) ([]byte, error) {
				t.Error("the step ran under a lost lease")
				return []byte("its own"), nil
			})
		},
	} {
		for attempt := 1; attempt <= 2; attempt++ {
			b := b.on(t)
			b.exec("DELETE FROM idem.keys")
			key := b.key("k")
			store := b.newStore(idem.Policy{Retention: time.Hour, Stale: idem.StaleRerun})
			sleeper := b.claim(store, key)
			if attempt == 2 {
				b.age(key, time.Hour)
				sleeper = b.claim(store, key)
			}
			b.delete(key) // by an operator, or by retention and the sweep
			other := key
			other.Fingerprint = idem.FingerprintOf([]byte("$9000.00"))
			if _, err := b.claim(store, other).StepTx(b.ctx, "note", output("the other request's")); err != nil {
				t.Fatal(err)
			}
			if got, err := step(sleeper); !errors.Is(err, idem.ErrLeaseLost) || got != nil {
				t.Errorf("%s of a holder's attempt %d: %q, %v; want ErrLeaseLost", name, attempt, got, err)
			}
		}
	}
}

// A takeover that came too late says nothing of the life that the same call then starts: it can be given back, and is nobody's to
// ask about.
func TestTakeoverThatCameTooLateLeavesNoDoubt(t *testing.T) {
	b := setup(t)
	resolving := idem.Policy{Retention: time.Hour, Lease: time.Minute, Wait: 20 * time.Second, Stale: idem.StaleResolve,
		Resolve: func(context.Context, *idem.Record) (idem.Verdict, *idem.Response, error) {
			t.Error("the downstream was asked about a new life")
			return idem.Pending, nil, nil
		}}
	rerunning := patient
	rerunning.Stale = idem.StaleRerun
	for name, policy := range map[string]idem.Policy{"StaleRerun": rerunning, "StaleResolve": resolving} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			holder, taker := b.session("holder", policy), b.session("taker", policy)
			lease := b.claim(holder.store, key)
			b.age(key, time.Hour)
			lock := b.begin()
			b.inOrder(
				do("the row is locked", func() {
					if _, err := lock.Exec(b.ctx, "SELECT FROM idem.keys WHERE tenant_id = $1 FOR UPDATE", key.Tenant); err != nil {
						t.Fatal(err)
					}
				}),
				holder.starts("Release", func(ctx context.Context, _ *session) (*idem.Response, error) { return nil, lease.Release(ctx) }),
				b.blocked(1),
				taker.starts("Claim", func(ctx context.Context, s *session) (*idem.Response, error) {
					taken, resp, err := s.store.Claim(ctx, key)
					if err == nil && taken != nil {
						err = taken.Release(ctx)
					}
					return resp, err
				}),
				b.blocked(2),
				do("the row is free", func() { b.rollback(lock) }),
				holder.gets("its release", nil),
				taker.gets("the key, and gives it back", nil),
			)
			if found, err := taker.store.Lookup(b.ctx, key); err != nil || found.State != idem.StateReleased {
				t.Errorf("the key is %+v, %v; want it released", found, err)
			}
		})
	}
}
