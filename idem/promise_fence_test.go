package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// rerun lets the next caller take an abandoned key over.
var rerun = idem.Policy{Retention: time.Hour, Lease: time.Minute, Stale: idem.StaleRerun}

func (b *bundle) claim(s *idem.Store, key idem.Key) *idem.Lease {
	b.t.Helper()
	lease, resp, err := s.Claim(b.ctx, key)
	if err != nil || resp != nil {
		b.t.Fatalf("Claim: got %+v, %v; want the lease", resp, err)
	}
	return lease
}

// writes are what a holder can send.
var writes = map[string]func(context.Context, *bundle, *idem.Lease) error{
	"Complete": func(ctx context.Context, _ *bundle, l *idem.Lease) error {
		return l.Complete(ctx, &idem.Response{Status: 201, Body: []byte("the zombie's")})
	},
	"CompleteTx": func(ctx context.Context, b *bundle, l *idem.Lease) error {
		tx := b.begin()
		if _, err := tx.Exec(ctx, "INSERT INTO charges (key) VALUES ('the zombie''s')"); err != nil {
			return err
		}
		lost := l.CompleteTx(ctx, tx, &idem.Response{Status: 201, Body: []byte("the zombie's")})
		if err := tx.Commit(ctx); !errors.Is(err, pgx.ErrTxCommitRollback) { // it ignores lost
			b.t.Errorf("Commit after a lost fence: got %v, want ErrTxCommitRollback", err)
		}
		return lost
	},
	"Extend":  func(ctx context.Context, _ *bundle, l *idem.Lease) error { return l.Extend(ctx) },
	"Release": func(ctx context.Context, _ *bundle, l *idem.Lease) error { return l.Release(ctx) },
	"Abandon": func(ctx context.Context, _ *bundle, l *idem.Lease) error {
		if err := l.Abandon(ctx); err != nil { // the one to defer: a lease that is lost has ended, too
			return err
		}
		return idem.ErrLeaseLost
	},
}

// P7 Fenced. A holder that has lost its lease can change nothing of ours, nor commit a CompleteTx.
func TestP7Fenced(t *testing.T) {
	b := setup(t)
	for what, lose := range map[string]func(*bundle, *idem.Store, idem.Key){
		"to a holder": func(b *bundle, s *idem.Store, key idem.Key) { b.claim(s, key) },
		"to a holder that finished": func(b *bundle, s *idem.Store, key idem.Key) {
			if err := b.claim(s, key).Complete(b.ctx, created()); err != nil {
				t.Fatal(err)
			}
		},
		"to an operator who gave it back": func(b *bundle, _ *idem.Store, key idem.Key) { b.giveBack(key) },
		"to a holder that gave it back": func(b *bundle, s *idem.Store, key idem.Key) {
			b.giveBack(key)
			if err := b.claim(s, key).Release(b.ctx); err != nil {
				t.Fatal(err)
			}
		},
		"to the next but one": func(b *bundle, s *idem.Store, key idem.Key) {
			b.giveBack(key)
			if err := b.claim(s, key).Release(b.ctx); err != nil {
				t.Fatal(err)
			}
			b.claim(s, key)
		},
		"to a holder that was abandoned": func(b *bundle, s *idem.Store, key idem.Key) {
			if err := b.claim(s, key).Abandon(b.ctx); err != nil {
				t.Fatal(err)
			}
		},
		"to a new row after the old one was forgotten": func(b *bundle, s *idem.Store, key idem.Key) {
			b.delete(key)
			b.claim(s, key)
		},
		"to nobody, its row is gone": func(b *bundle, _ *idem.Store, key idem.Key) { b.delete(key) },
	} {
		for name, write := range writes {
			for where, other := range map[string]func(*idem.Store) *idem.Store{
				"in the same process": func(s *idem.Store) *idem.Store { return s },
				"in another process":  func(*idem.Store) *idem.Store { return b.newStore(rerun) },
			} {
				t.Run(name+"/"+what+"/"+where, func(t *testing.T) {
					b := b.on(t)
					store, key := b.newStore(rerun), b.key("k")
					zombie := b.claim(store, key)
					b.age(key, 2*rerun.Lease)
					lose(b, other(store), key)
					before := b.row(key)
					wantIs(t, write(b.ctx, b, zombie), idem.ErrLeaseLost)
					if after := b.row(key); after != before {
						t.Errorf("the zombie changed the row:\n%s\n%s", before, after)
					}
					if n := b.charges("the zombie's"); n != 0 {
						t.Errorf("%d rows of the zombie were committed", n)
					}
				})
			}
		}
	}
}

// giveBack is what an operator does who knows that nothing happened.
func (b *bundle) giveBack(key idem.Key) {
	b.t.Helper()
	b.exec(`UPDATE idem.keys SET status = 'released', locked_until = NULL, fence = fence + 1,
		leased = EXISTS (SELECT FROM idem.steps AS s WHERE s.tenant_id = $1 AND s.endpoint = $2 AND s.key = $3)
		WHERE tenant_id = $1 AND endpoint = $2 AND key = $3 AND status = 'in_flight'`, key.Tenant, key.Endpoint, key.ID)
}

// One whose lease has lapsed but whom nobody has replaced can still extend and complete.
func TestP7LapsedButUnreplacedHolderGoesOn(t *testing.T) {
	b := setup(t)
	for name, write := range map[string]func(context.Context, *bundle, *idem.Lease) error{
		"Extend":   func(ctx context.Context, _ *bundle, l *idem.Lease) error { return l.Extend(ctx) },
		"Complete": func(ctx context.Context, _ *bundle, l *idem.Lease) error { return l.Complete(ctx, created()) },
		"CompleteTx": func(ctx context.Context, b *bundle, l *idem.Lease) error {
			return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error { return l.CompleteTx(ctx, tx, created()) })
		},
		"Release": func(ctx context.Context, _ *bundle, l *idem.Lease) error { return l.Release(ctx) },
		"Extend, then Complete": func(ctx context.Context, _ *bundle, l *idem.Lease) error {
			return errors.Join(l.Extend(ctx), l.Complete(ctx, created()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			lease := b.claim(b.newStore(rerun), key)
			b.age(key, 2*rerun.Lease)
			if err := write(b.ctx, b, lease); err != nil {
				t.Fatal(err)
			}
			record, err := b.store.Lookup(b.ctx, key)
			if err != nil || record.State == idem.StateAbandoned {
				t.Errorf("the key is %v, %v", record.State, err)
			}
		})
	}
}

// One whom a resolver displaced keeps its fence and loses its claim: it can only complete.
func TestP7DisplacedHolderCanOnlyComplete(t *testing.T) {
	b := setup(t)
	for name, want := range map[string]error{"Complete": nil, "Extend": idem.ErrLeaseLost, "Release": idem.ErrLeaseLost, "Abandon": idem.ErrLeaseLost} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			lease := b.claim(b.newStore(rerun), key)
			b.exec("UPDATE idem.keys SET claim_id = gen_random_uuid() WHERE tenant_id = $1", key.Tenant)
			before := b.row(key)
			if err := writes[name](b.ctx, b, lease); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if after := b.row(key); want != nil && after != before {
				t.Errorf("the displaced holder changed the row:\n%s\n%s", before, after)
			}
		})
	}
}

// Every claim gets a higher fence than its predecessor, whatever became of that one and whatever the clock does.
func TestFenceRisesEvenWhenTheClockStepsBack(t *testing.T) {
	b := setup(t)
	ahead := int64(4102444800000000) // the year 2100: the predecessor claimed before the clock was set right
	store := b.newStore(rerun)
	for name, next := range map[string]func(*bundle, idem.Key, *idem.Lease) error{
		"taken over": func(b *bundle, key idem.Key, _ *idem.Lease) error { b.age(key, 2*rerun.Lease); return nil },
		"given back": func(b *bundle, key idem.Key, l *idem.Lease) error {
			err := l.Abandon(b.ctx)
			b.giveBack(key)
			return err
		},
		"given back with steps": func(b *bundle, key idem.Key, l *idem.Lease) error {
			b.insertStep(key, "capture")
			err := l.Abandon(b.ctx)
			b.giveBack(key)
			return err
		},
		"expired": func(b *bundle, key idem.Key, l *idem.Lease) error {
			err := l.Complete(b.ctx, created())
			b.age(key, 2*rerun.Retention)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			b.claim(store, key)
			b.age(key, 2*rerun.Lease)
			b.exec("UPDATE idem.keys SET fence = $2 WHERE tenant_id = $1", key.Tenant, ahead)
			second := b.claim(store, key)
			if second.Fence() <= ahead {
				t.Fatalf("fence %d after %d", second.Fence(), ahead)
			}
			if err := next(b, key, second); err != nil {
				t.Fatal(err)
			}
			if third := b.claim(store, key); third.Fence() <= second.Fence() {
				t.Errorf("fence %d after %d", third.Fence(), second.Fence())
			}
		})
	}
}

func TestReleaseIsRefusedOnceCompleteWasTried(t *testing.T) {
	b := setup(t)
	for name, handOut := range map[string]bool{"without a downstream key": false, "with one": true} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			lease := b.claim(b.store, b.key("k"))
			if handOut {
				lease.DownstreamKey("capture")
			}
			if err := lease.Complete(b.ctx, created()); err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(b.ctx); err == nil || errors.Is(err, idem.ErrOutcomeUnknown) {
				t.Errorf("got %v, want a refusal that does not call the outcome unknown", err)
			}
			if err := lease.Abandon(b.ctx); err != nil {
				t.Errorf("Abandon after Complete does nothing, and got %v", err)
			}
			if again, err := b.store.Hold(b.ctx, b.key("k"), holdMustNotRun(t)); err != nil || !again.Replayed {
				t.Errorf("got %+v, %v; want a replay", again, err)
			}
		})
	}
}

// Release says that nothing happened. After a downstream key was handed out only the downstream knows.
func TestReleaseAfterADownstreamKeyLeavesTheKeyUnknown(t *testing.T) {
	b := setup(t)
	key := b.key("k")
	lease := b.claim(b.store, key)
	lease.DownstreamKey("capture")
	wantIs(t, lease.Release(b.ctx), idem.ErrOutcomeUnknown)
	_, _, err := b.store.Claim(b.ctx, key)
	wantIs(t, err, idem.ErrOutcomeUnknown)
}
