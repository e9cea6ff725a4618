package idem_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// Takeover and completion meet on the row, in both orders. Whoever comes second finds what the first has left.
func TestTakeoverAgainstCompletion(t *testing.T) {
	b := setup(t)
	policy := patient
	policy.Stale = idem.StaleRerun
	type sides struct {
		b      *bundle
		key    idem.Key
		lease  *idem.Lease // of the holder that was silent for too long
		holder *session
		taker  *session
		lock   pgx.Tx
		taken  *idem.Lease
	}
	start := func(t *testing.T) *sides {
		b := b.on(t)
		s := &sides{b: b, key: b.key("k"), holder: b.session("holder", policy), taker: b.session("taker", policy)}
		s.lease = b.claim(s.holder.store, s.key)
		b.age(s.key, time.Hour)
		s.lock = b.begin()
		if _, err := s.lock.Exec(b.ctx, "SELECT FROM idem.keys WHERE tenant_id = $1 FOR UPDATE", s.key.Tenant); err != nil {
			t.Fatal(err)
		}
		return s
	}
	completes := func(s *sides) step {
		return s.holder.starts("Complete", func(ctx context.Context, _ *session) (*idem.Response, error) {
			return created(), s.lease.Complete(ctx, created())
		})
	}
	takes := func(s *sides) step {
		return s.taker.starts("Claim", func(ctx context.Context, t *session) (resp *idem.Response, err error) {
			s.taken, resp, err = t.store.Claim(ctx, s.key)
			return resp, err
		})
	}
	free := func(s *sides) step { return do("the row is free", func() { s.b.rollback(s.lock) }) }

	t.Run("completion first: the taker replays", func(t *testing.T) {
		s := start(t)
		s.b.inOrder(
			completes(s), s.b.blocked(1),
			takes(s), s.b.blocked(2),
			free(s),
			s.holder.gets("its own answer", created()),
			s.taker.gets("a replay", replayOf(created())),
		)
	})
	t.Run("takeover first: the holder has lost", func(t *testing.T) {
		s := start(t)
		s.b.inOrder(
			takes(s), s.b.blocked(1),
			completes(s), s.b.blocked(2),
			free(s),
			s.holder.fails(idem.ErrLeaseLost),
		)
		if s.taker.wait(); s.taken == nil || s.taken.Fence() <= s.lease.Fence() || s.taken.Attempt() != 2 {
			t.Fatalf("the taker got %+v, %v; want a lease with a higher fence", s.taken, s.taker.err)
		}
		if err := s.taken.Complete(s.b.ctx, created()); err != nil {
			t.Error(err)
		}
	})
	t.Run("extension first: the taker is told that it is held", func(t *testing.T) {
		s := start(t)
		s.b.inOrder(
			s.holder.starts("Extend", func(ctx context.Context, _ *session) (*idem.Response, error) { return nil, s.lease.Extend(ctx) }),
			s.b.blocked(1),
			takes(s), s.b.blocked(2),
			free(s),
			s.holder.gets("its extension", nil),
			s.taker.fails(idem.ErrInFlight),
		)
	})
	t.Run("release first: the taker starts a new life", func(t *testing.T) {
		s := start(t)
		s.b.inOrder(
			s.holder.starts("Release", func(ctx context.Context, _ *session) (*idem.Response, error) { return nil, s.lease.Release(ctx) }),
			s.b.blocked(1),
			takes(s), s.b.blocked(2),
			free(s),
			s.holder.gets("its release", nil),
			s.taker.gets("the lease", nil),
		)
		if s.taken == nil || s.taken.Attempt() != 1 || s.taken.Fence() <= s.lease.Fence() {
			t.Errorf("the taker got %+v; want the first attempt of a new life under a higher fence", s.taken)
		}
	})
	t.Run("two takers: one has it", func(t *testing.T) {
		s := start(t)
		other := s.b.session("the other taker", policy)
		s.b.inOrder(
			takes(s), s.b.blocked(1),
			other.starts("Claim", func(ctx context.Context, o *session) (*idem.Response, error) {
				_, resp, err := o.store.Claim(ctx, s.key)
				return resp, err
			}),
			s.b.blocked(2),
			free(s),
			s.taker.gets("the lease", nil),
			other.fails(idem.ErrInFlight),
		)
	})
}

// A completion that commits after the key's retention would have ended moves the end: the answer is there for as long as any.
func TestKeySettledAfterItsRetentionReplays(t *testing.T) {
	b := setup(t)
	for name, complete := range map[string]func(*bundle, *idem.Lease) error{
		"Complete": func(b *bundle, l *idem.Lease) error { return l.Complete(b.ctx, created()) },
		"CompleteTx": func(b *bundle, l *idem.Lease) error {
			return pgx.BeginFunc(b.ctx, b.pool, func(tx pgx.Tx) error { return l.CompleteTx(b.ctx, tx, created()) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			key := b.key("k")
			lease := b.claim(b.store, key)
			b.age(key, 3*time.Hour) // retention is one
			if err := complete(b, lease); err != nil {
				t.Fatal(err)
			}
			if again, err := b.store.Hold(b.ctx, key, holdMustNotRun(t)); err != nil || !again.Replayed {
				t.Errorf("got %+v, %v; want a replay", again, err)
			}
			b.age(key, 59*time.Minute)
			if again, err := b.store.Hold(b.ctx, key, holdMustNotRun(t)); err != nil || !again.Replayed {
				t.Errorf("59 minutes later: got %+v, %v; want a replay", again, err)
			}
			b.age(key, 2*time.Minute)
			b.claim(b.store, key) // 61 minutes later it is new
		})
	}
}

// 5,000 keys are given back and claimed again at once, and no claim gets a fence that is not above its predecessor's.
func TestReleaseAndReclaimNeverLowersAFence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const callers, keys = 16, 24
	claims := 5000
	if testing.Short() {
		claims = 500
	}
	stores := []*idem.Store{b.process(rerun), b.process(rerun), b.process(rerun)}
	var mu sync.Mutex
	fences := make(map[string]int64)
	left := claims
	another := func() bool {
		mu.Lock()
		defer mu.Unlock()
		left--
		return left >= 0
	}
	storm(callers, func(i int) {
		store := stores[i%len(stores)]
		for another() {
			key := b.key(strconv.Itoa(rand.N(keys)))
			lease, _, err := store.Claim(b.ctx, key)
			switch {
			case errors.Is(err, idem.ErrInFlight), errors.Is(err, idem.ErrContended):
				mu.Lock()
				left++ // it does not count
				mu.Unlock()
				continue
			case err != nil:
				t.Error(err)
				return
			}
			mu.Lock() // it alone holds the key
			if last := fences[key.ID]; lease.Fence() <= last {
				t.Errorf("fence %d after %d", lease.Fence(), last)
			}
			fences[key.ID] = lease.Fence()
			mu.Unlock()
			if err := lease.Release(b.ctx); err != nil {
				t.Error(err)
			}
		}
	})
}
