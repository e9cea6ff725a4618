package idem_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// C29: while the first call of a key runs for long, twenty duplicates from another process are told to come back within Wait,
// and a query that has nothing to do with it goes on. When the first rolls back, exactly one who waits runs.
func TestC29DuplicatesOfALongCallAreSentAway(t *testing.T) {
	b := setup(t, func(c *pgxpool.Config) { c.MaxConns = 8 })
	const wait = 300 * time.Millisecond
	first := b.newStore(idem.Policy{Retention: time.Hour})
	other := b.newStore(idem.Policy{Retention: time.Hour, Wait: wait})
	started, finish, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := first.Do(b.ctx, b.key("k"), func(context.Context, pgx.Tx) (*idem.Response, error) {
			close(started)
			<-finish
			return nil, errors.ErrUnsupported
		})
		ended <- err
	}()
	<-started

	var duplicates sync.WaitGroup
	for range 20 {
		duplicates.Go(func() {
			wantBounded(t, wait+slack, func() {
				_, err := other.Do(b.ctx, b.key("k"), mustNotRun(t))
				if after, ok := idem.RetryAfter(err); !errors.Is(err, idem.ErrInFlight) || !ok || after != time.Second {
					t.Errorf("got %v, come back after %v; want in flight, after 1s", err, after)
				}
			})
		})
	}
	for range 20 {
		wantBounded(t, slack, func() { b.count("SELECT 1") })
	}
	duplicates.Wait()

	runs := make(chan int, 5)
	waiters := b.newStore(idem.Policy{Retention: time.Hour, Wait: time.Minute})
	for n := range cap(runs) {
		go func() {
			ran := 0
			if _, err := waiters.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
				ran = 1
				return charge("k")(ctx, tx)
			}); err != nil {
				t.Errorf("waiter %d: %v", n, err)
			}
			runs <- ran
		}()
	}
	b.waitBlocked(1)
	close(finish)
	wantIs(t, <-ended, errors.ErrUnsupported)
	total := 0
	for range cap(runs) {
		total += <-runs
	}
	if total != 1 || b.charges("k") != 1 {
		t.Errorf("%d waiters ran and %d charges were made, want 1 and 1", total, b.charges("k"))
	}
}

// C30: work that asks the pool for a second connection can starve it. Then a call gets ErrUnavailable in bounded time and nothing
// of it runs. The starved calls end with their own callers' deadlines, and their keys are free.
func TestC30WorkThatTakesASecondConnectionStarvesNoKeyForEver(t *testing.T) {
	t.Parallel()
	const conns = 4
	b := setup(t, func(c *pgxpool.Config) { c.MaxConns = conns })
	store := b.newStore(idem.Policy{Retention: time.Hour, Wait: -1})
	ctx, cancel := context.WithTimeout(b.ctx, 12*time.Second) // as every request of a server has
	defer cancel()
	var barrier, calls sync.WaitGroup
	barrier.Add(conns)
	for n := range conns {
		calls.Go(func() {
			_, err := store.Do(ctx, b.key(fmt.Sprint("k", n)), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
				barrier.Done()
				barrier.Wait()
				var one int
				return created(), b.pool.QueryRow(ctx, "SELECT 1").Scan(&one) // not tx: waits for the others, who wait for it
			})
			if err == nil {
				t.Error("a starved call reports an answer")
			}
		})
	}
	barrier.Wait()
	wantBounded(t, 5*time.Second+slack, func() { // the grace of a claim
		_, err := store.Do(b.ctx, b.key("another"), mustNotRun(t))
		wantIs(t, err, idem.ErrUnavailable)
	})
	calls.Wait()
	for n := range conns {
		if _, err := store.Do(b.ctx, b.key(fmt.Sprint("k", n)), charge("k")); err != nil {
			t.Errorf("key %d is not free: %v", n, err)
		}
	}
}
