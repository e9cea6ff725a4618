package idem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/testdb"
)

// stormTime is how long a storm lasts.
func stormTime() time.Duration {
	if testing.Short() {
		return time.Second
	}
	return 10 * time.Second
}

// turnover claims a key again and again with others, holds it alone and gives it back or finishes it.
type turnover struct {
	b       *bundle
	holders sync.Map // *atomic.Int64 by key
	claimed atomic.Int64
}

// once is one turn of one key. It reports what is no fair answer.
func (v *turnover) once(store *idem.Store, id string) {
	lease, resp, err := store.Claim(v.b.ctx, v.b.key(id))
	switch {
	case err == nil && lease == nil:
		if string(resp.Body) != id {
			v.b.t.Errorf("%s: replayed as %+v", id, resp)
		}
		return
	case sqlState(err) == "40P01":
		v.b.t.Errorf("%s: a deadlock: %v", id, err)
		return
	case errors.Is(err, idem.ErrInFlight), errors.Is(err, idem.ErrContended):
		return
	case err != nil:
		v.b.t.Errorf("%s: %v", id, err)
		return
	}
	v.claimed.Add(1)
	n, _ := v.holders.LoadOrStore(id, new(atomic.Int64))
	holders := n.(*atomic.Int64)
	if n := holders.Add(1); n != 1 {
		v.b.t.Errorf("%s: %d holders", id, n)
	}
	if rand.N(4) == 0 {
		time.Sleep(rand.N(3 * time.Millisecond))
	}
	holders.Add(-1)
	if rand.N(2) == 0 {
		err = lease.Release(v.b.ctx)
	} else {
		err = lease.Complete(v.b.ctx, &idem.Response{Body: []byte(id)})
	}
	if err != nil {
		v.b.t.Errorf("%s: ended: %v", id, err)
	}
}

// Two processes claim the same keys in flights of opposite order: rows are taken in the order of their names, so there is no
// deadlock, not even one that is repeated and seen by nobody. No key has two holders.
func TestFlightsInOppositeOrdersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	// a server that looks for a deadlock before a flight gives up waiting
	server := testdb.Server(t, devpg.Options{Settings: map[string]string{"deadlock_timeout": "5ms", "fsync": "off"}})
	b := &bundle{t: t, ctx: t.Context(), pool: server.Pool}
	const callers, keys = 24, 24
	stores := []*idem.Store{b.coalescingProcess(idem.Policy{Wait: time.Minute}), b.coalescingProcess(idem.Policy{Wait: time.Minute})}
	v := turnover{b: b}
	began := time.Now()
	for round := 0; time.Since(began) < stormTime() && !t.Failed(); round++ {
		storm(2*callers, func(i int) {
			at, n := i%2, i/2*keys/callers
			if at == 1 {
				n = keys - 1 - n
			}
			v.once(stores[at], fmt.Sprintf("k%d-%02d", round, n))
			v.once(stores[at], fmt.Sprintf("k%d-%02d", round, (n+7)%keys))
		})
	}
	for _, s := range stores {
		s.Close()
	}
	for _, s := range stores {
		s.Pool.Reset() // a session tells what it saw when it ends
	}
	b.eventually(func() bool {
		return b.count("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()") <= 1
	}, "the sessions never ended")
	if n := b.count("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	t.Logf("%d claims", v.claimed.Load())
}

// A transaction that takes the same keys in the other order by DoTx is not chosen as a deadlock's victim: the flight gives way.
func TestDoTxInTheOtherOrderBesideFlightsIsNoDeadlock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const callers, keys = 16, 16
	store := b.coalescingProcess(idem.Policy{Wait: 10 * time.Second})
	other := b.coalescingProcess(idem.Policy{Wait: 10 * time.Second})
	var claimed, did atomic.Int64
	began := time.Now()
	for round := 0; time.Since(began) < stormTime() && !t.Failed(); round++ {
		id := func(n int) string { return fmt.Sprintf("k%d-%02d", round, n) }
		var dotx sync.WaitGroup
		dotx.Go(func() {
			err := pgx.BeginFunc(b.ctx, other.Pool, func(tx pgx.Tx) error {
				for n := keys - 1; n >= 0; n-- {
					_, err := other.DoTx(b.ctx, tx, b.key(id(n)), func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, nil })
					switch {
					case err == nil:
						did.Add(1)
					case !errors.Is(err, idem.ErrInFlight):
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("the transaction: %v", err)
			}
		})
		storm(callers, func(i int) {
			lease, _, err := store.Claim(b.ctx, b.key(id(i)))
			switch {
			case err != nil && !errors.Is(err, idem.ErrInFlight):
				t.Errorf("%s: %v", id(i), err)
			case lease != nil:
				claimed.Add(1)
			}
		})
		dotx.Wait()
	}
	t.Logf("%d claimed, %d done", claimed.Load(), did.Load())
	if claimed.Load() == 0 || did.Load() == 0 {
		t.Errorf("one side had everything: %d claimed, %d done", claimed.Load(), did.Load())
	}
}

// Keys expire, are swept, forgotten and claimed again while flights of two processes want them: each has one holder, and the answers
// that are replayed are its own.
func TestSweepAndForgetBesideFlights(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const callers, keys = 16, 12
	stores := []*idem.Store{b.coalescingProcess(idem.Policy{Wait: -1}), b.coalescingProcess(idem.Policy{Wait: time.Minute})}
	v := turnover{b: b}
	ctx, cancel := context.WithTimeout(b.ctx, stormTime())
	defer cancel()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				v.once(stores[i%2], fmt.Sprint("k", rand.N(keys)))
			}
		})
	}
	again := func(f func() error) {
		all.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				if err := f(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var swept, forgotten atomic.Int64
	again(func() error {
		_, err := b.pool.Exec(b.ctx, "UPDATE idem.keys SET expires_at = now() WHERE status IN ('committed', 'released') AND key = $1", fmt.Sprint("k", rand.N(keys)))
		return err
	})
	again(func() error {
		stats, err := (&idem.Sweeper{Pool: b.pool}).Sweep(b.ctx)
		swept.Add(int64(stats.Deleted))
		return err
	})
	again(func() error {
		tag, err := b.pool.Exec(b.ctx, "DELETE FROM idem.keys WHERE status <> 'in_flight' AND key = $1", fmt.Sprint("k", rand.N(keys)))
		forgotten.Add(tag.RowsAffected())
		return err
	})
	all.Wait()
	t.Logf("%d claims, %d swept, %d forgotten", v.claimed.Load(), swept.Load(), forgotten.Load())
	if v.claimed.Load() == 0 || swept.Load() == 0 || forgotten.Load() == 0 {
		t.Error("nothing of one kind happened")
	}
}

// Callers that share statements, some of them cancelled, leave no goroutine and no timer behind.
func TestFlightsLeaveNoGoroutine(t *testing.T) {
	b := setup(t)
	b.exec("SELECT 1")
	before := goleak.IgnoreCurrent()
	store := &idem.Store{Pool: b.pool}
	v := turnover{b: b}
	storm(64, func(i int) {
		ctx, cancel := context.WithTimeout(b.ctx, time.Duration(i)*time.Millisecond)
		defer cancel()
		if lease, _, err := store.Claim(ctx, b.key(fmt.Sprint("cancelled ", i))); err == nil {
			_ = lease.Abandon(b.ctx)
		}
		v.once(store, fmt.Sprint("k", i))
	})
	store.Close()
	b.eventually(func() bool { return goleak.Find(before) == nil }, "goroutines of the store outlive it")
}
