package idem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// Holders that lose their lease at any moment, take over, give back and abandon, beside heartbeats and a completer:
// no deadlock, one row a StepTx, one answer a key.
func TestStepsAmongTakeoversHappenOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const keys, callers, seconds = 12, 12, 4
	policy := idem.Policy{Stale: idem.StaleRerun, Lease: 40 * time.Millisecond, Wait: 20 * time.Millisecond, Handler: "charge"}
	var answers sync.Map
	work := func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		pause := func() {
			if rand.N(3) == 0 {
				time.Sleep(rand.N(80 * time.Millisecond))
			}
		}
		reserved, err := l.Step(ctx, "reserve", func(context.Context, string) ([]byte, error) {
			pause()
			if rand.N(6) == 0 {
				return nil, idem.Transient(errCrash)
			}
			return fmt.Appendf(nil, "r%d", l.Fence()), nil
		})
		if err != nil {
			return nil, err
		}
		pause()
		noted, err := l.StepTx(ctx, "note", func(ctx context.Context, tx pgx.Tx) (output []byte, err error) {
			if rand.N(6) == 0 {
				return nil, idem.Transient(errCrash)
			}
			pause()
			var id int64
			err = tx.QueryRow(ctx, "INSERT INTO charges (key) VALUES ($1) RETURNING id", l.Key().ID).Scan(&id)
			return fmt.Appendf(nil, "-%d", id), err
		})
		if err != nil {
			return nil, err
		}
		pause()
		if rand.N(6) == 0 {
			return nil, errCrash
		}
		return &idem.Response{Status: 201, Body: append(reserved, noted...)}, nil
	}
	check := func(id string, resp *idem.Response, err error) {
		switch {
		case err == nil:
			if first, other := answers.LoadOrStore(id, string(resp.Body)); other && first != string(resp.Body) {
				t.Errorf("%s: answered %s and %s", id, first, resp.Body)
			}
		case sqlState(err) == "40P01":
			t.Errorf("%s: a deadlock: %v", id, err)
		case sqlState(err) == "25P03": // the StepTx was silent for longer than the lease
		case errors.Is(err, context.Canceled): // the work's context ended with its lease, in the middle of its statement
		case errors.Is(err, idem.ErrInFlight), errors.Is(err, idem.ErrLeaseLost), errors.Is(err, idem.ErrContended),
			errors.Is(err, idem.ErrUnavailable), errors.Is(err, idem.ErrCommitUnknown), errors.Is(err, idem.ErrOutcomeUnknown), errors.Is(err, errCrash):
		default:
			t.Errorf("%s: %v", id, err)
		}
	}
	ctx, cancel := context.WithTimeout(b.ctx, seconds*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				store := b.newStore(policy)
				for range 5 {
					id := fmt.Sprintf("k%d", rand.N(keys))
					if rand.N(4) == 0 { // without a heartbeat
						lease, resp, err := store.Claim(b.ctx, b.key(id))
						if lease != nil {
							resp, err = work(b.ctx, lease)
							if err == nil {
								err = lease.Complete(b.ctx, resp)
							}
							_ = lease.Abandon(b.ctx)
						}
						check(id, resp, err)
						continue
					}
					resp, err := store.Hold(b.ctx, b.key(id), work)
					check(id, resp, err)
				}
				store.Close()
			}
		})
	}
	all.Go(func() {
		c := &idem.Completer{Store: b.newStore(policy), Handlers: map[string]idem.Work{"charge": work}, Backoff: time.Millisecond, Attempts: 1000}
		for ctx.Err() == nil {
			if _, err := c.Complete(b.ctx); err != nil {
				check("completer", nil, err)
			}
		}
	})
	all.Wait()
	calm := b.newStore(idem.Policy{Stale: idem.StaleRerun, Wait: 5 * time.Second})
	for i := range keys {
		id := fmt.Sprintf("k%d", i)
		var resp *idem.Response
		err := errCrash
		for try := 0; err != nil && try < 50; try++ {
			resp, err = calm.Hold(b.ctx, b.key(id), work)
		}
		check(id, resp, err)
		if n := b.charges(id); err != nil || n != 1 {
			t.Errorf("%s: %d rows, %v", id, n, err)
		}
	}
}
