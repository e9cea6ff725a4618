package idem_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

// poolOf bounds a pool. Its sessions can be told from others by their name.
func poolOf(n int32) func(*pgxpool.Config) {
	return func(c *pgxpool.Config) {
		c.MaxConns = n
		c.ConnConfig.RuntimeParams["application_name"] = "handlers"
	}
}

// observer is a pool beside the one under test.
func (b *bundle) observer() *bundle {
	other := *b
	other.pool = testdb.Pool(b.t, b.pool.Config().ConnString())
	return &other
}

// longest is how long a query on a pool may take in the worst moment of a storm.
const longest = 100 * time.Millisecond

// prober asks a pool, again and again, how long a query takes. A slow machine delays a query on a connection of its own, sent
// at the same moment, just as long: only what the pool takes beyond that is the pool's.
type prober struct {
	pool    *pgxpool.Pool
	control *pgx.Conn
	probes  atomic.Int64
	worst   time.Duration
	failed  error
}

func (p *prober) run(ctx context.Context, until <-chan struct{}) {
	for {
		began := time.Now()
		control := make(chan time.Duration, 1)
		go func() {
			_, _ = p.control.Exec(ctx, "SELECT 1")
			control <- time.Since(began)
		}()
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := p.pool.Exec(bounded, "SELECT 1")
		cancel()
		took := time.Since(began)
		p.worst = max(p.worst, took-<-control)
		if err != nil {
			p.failed = err
			return
		}
		p.probes.Add(1)
		select {
		case <-until:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// TestStormDelaysNoQueryOnThePool: 200 callers of one key wait in memory; one of them has a connection.
func TestStormDelaysNoQueryOnThePool(t *testing.T) {
	const callers = 200
	for name, call := range map[string]func(context.Context, *idem.Store, idem.Key, func()) (*idem.Response, error){
		"Do": func(ctx context.Context, s *idem.Store, key idem.Key, work func()) (*idem.Response, error) {
			return s.Do(ctx, key, func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
				work()
				return charge("Do")(ctx, tx)
			})
		},
		"Hold": func(ctx context.Context, s *idem.Store, key idem.Key, work func()) (*idem.Response, error) {
			return s.Hold(ctx, key, func(context.Context, *idem.Lease) (*idem.Response, error) {
				work()
				return created(), nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, poolOf(4))
			store := b.newStore(idem.Policy{Wait: time.Minute})
			control, err := pgx.Connect(b.ctx, b.pool.Config().ConnString())
			if err != nil {
				t.Fatal(err)
			}
			defer control.Close(context.WithoutCancel(b.ctx))
			p := &prober{pool: b.pool, control: control}
			var callersDone, proberDone sync.WaitGroup
			until, goOn := make(chan struct{}), make(chan struct{})
			proberDone.Go(func() { p.run(b.ctx, until) })

			var runs, fresh, replayed atomic.Int64
			began := time.Now()
			for range callers {
				callersDone.Go(func() {
					resp, err := call(b.ctx, store, b.key("storm"), func() { runs.Add(1); <-goOn })
					switch {
					case err != nil:
						t.Error(err)
					case resp.Replayed:
						replayed.Add(1)
					default:
						fresh.Add(1)
					}
				})
			}
			// The work lasts until all others wait and the pool was asked 25 times meanwhile, or is seen to be stuck.
			storming := int64(0)
			for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(time.Millisecond) {
				if storming == 0 && idem.Queued(store, b.key("storm")) == callers-1 {
					storming = p.probes.Load()
				}
				if storming > 0 && p.probes.Load() >= storming+25 || time.Now().After(deadline) {
					break
				}
			}
			close(goOn)
			callersDone.Wait()
			close(until)
			proberDone.Wait()

			t.Logf("%d callers in %v: %d queries beside them, the slowest took %v longer than on a connection of its own",
				callers, time.Since(began).Round(time.Millisecond), p.probes.Load(), p.worst)
			if p.failed != nil || p.worst > longest {
				t.Errorf("a query on the pool took %v longer than one beside it (%v), want at most %v", p.worst, p.failed, longest)
			}
			if storming == 0 {
				t.Errorf("%d callers wait in memory, want %d", idem.Queued(store, b.key("storm")), callers-1)
			}
			if runs.Load() != 1 || fresh.Load() != 1 || replayed.Load() != callers-1 {
				t.Errorf("%d runs, %d fresh answers, %d replays; want 1, 1, %d", runs.Load(), fresh.Load(), replayed.Load(), callers-1)
			}
			b.eventually(func() bool { return b.pool.Stat().AcquiredConns() == 0 }, "a connection of the pool stays checked out")
		})
	}
}

// TestHoldTakesNoConnectionWhileItsWorkRuns: the work has all of a pool of one.
func TestHoldTakesNoConnectionWhileItsWorkRuns(t *testing.T) {
	b := setup(t, poolOf(1))
	_, err := b.store.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		if n := b.pool.Stat().AcquiredConns(); n != 0 {
			t.Errorf("%d connections are checked out while the work runs, want 0", n)
		}
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		_, err := b.pool.Exec(ctx, "INSERT INTO charges (key) VALUES ('k')")
		return created(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.store.Claim(b.ctx, b.key("claimed")); err != nil {
		t.Fatal(err)
	}
	if n := b.pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections are checked out after Claim, want 0", n)
	}
}

// TestBusyPoolStopsNeitherHeartbeatNorCompletion: the store has two connections of its own, one for heartbeats alone, and
// Close closes them.
func TestBusyPoolStopsNeitherHeartbeatNorCompletion(t *testing.T) {
	b := setup(t, poolOf(2))
	seen := b.observer()
	sessions := func(want int, when string) {
		t.Helper()
		seen.eventually(func() bool {
			return seen.count(`SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'handlers'`) == want
		}, "%s there were never %d sessions", when, want)
	}
	extended := func(id string, after time.Time) (until time.Time) {
		seen.eventually(func() bool {
			err := seen.pool.QueryRow(b.ctx, "SELECT locked_until FROM idem.keys WHERE key = $1 AND status = 'in_flight'", id).Scan(&until)
			return err == nil && until.After(after)
		}, "the lease of %s was never extended", id)
		return until
	}
	store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: b.pool, Policy: idem.Policy{Lease: 1500 * time.Millisecond, Retention: time.Hour}}
	b.exec("SELECT 1")
	before := goleak.IgnoreCurrent()

	// Two handlers that hold the whole pool.
	type handler struct {
		id      string
		conn    *pgxpool.Conn
		taken   chan error
		release func() // of the connection
		goOn    func()
		ended   chan error
	}
	handlers := []*handler{{id: "one"}, {id: "two"}}
	for _, h := range handlers {
		wait := make(chan struct{})
		h.taken, h.ended = make(chan error, 1), make(chan error, 1)
		h.goOn = sync.OnceFunc(func() { close(wait) })
		h.release = sync.OnceFunc(func() { h.conn.Release() })
		go func() {
			_, err := store.Hold(b.ctx, b.key(h.id), func(ctx context.Context, l *idem.Lease) (_ *idem.Response, err error) {
				h.conn, err = b.pool.Acquire(ctx)
				h.taken <- err
				<-wait
				return created(), nil
			})
			h.ended <- err
		}()
		if err := <-h.taken; err != nil {
			t.Fatal(err)
		}
		defer h.goOn()
		defer h.release()
	}
	one, two := handlers[0], handlers[1]
	for _, h := range handlers { // two heartbeats each
		extended(h.id, extended(h.id, extended(h.id, time.Time{})))
	}
	one.goOn()
	if err := <-one.ended; err != nil {
		t.Errorf("completion beside a busy pool: %v", err)
	}
	if n := seen.count("SELECT count(*) FROM idem.keys WHERE key = 'one' AND status = 'committed'"); n != 1 {
		t.Error("the key was not completed")
	}
	if busy := b.pool.Stat().AcquiredConns(); busy != 2 {
		t.Errorf("%d connections of the pool are checked out, want 2: it was not busy", busy)
	}
	sessions(4, "beside the pool's two, with the store's own")
	store.Close()
	sessions(2, "after Close")

	one.release()
	two.release()
	two.goOn()
	if err := <-two.ended; err != nil {
		t.Errorf("completion on the pool after Close: %v", err)
	}
	seen.eventually(func() bool { return goleak.Find(before) == nil }, "goroutines of the store outlive it")
}
