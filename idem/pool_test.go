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
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
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
	sessions := func() int {
		return seen.count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'handlers'")
	}
	extended := func(id string, after time.Time) (until time.Time) {
		seen.eventually(func() bool {
			err := seen.pool.QueryRow(b.ctx, "SELECT locked_until FROM idem.keys WHERE key = $1 AND status = 'in_flight'", id).Scan(&until)
			return err == nil && until.After(after)
		}, "the lease of %s was never extended", id)
		return until
	}
	store := &idem.Store{Pool: b.pool, Policy: idem.Policy{Lease: 1500 * time.Millisecond, Retention: time.Hour}}
	b.exec("SELECT 1")
	before := goleak.IgnoreCurrent()

	type held struct {
		conn *pgxpool.Conn
		err  error
	}
	taken, goOn := make(chan held, 2), make(chan struct{})
	var ended sync.WaitGroup
	for _, id := range []string{"one", "two"} {
		ended.Go(func() {
			_, err := store.Hold(b.ctx, b.key(id), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				conn, err := b.pool.Acquire(ctx)
				taken <- held{conn, err}
				<-goOn
				return created(), nil
			})
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	defer ended.Wait()
	for range 2 {
		h := <-taken
		if h.err != nil {
			close(goOn)
			t.Fatal(h.err)
		}
		defer h.conn.Release()
	}
	done := sync.OnceFunc(func() { close(goOn) })
	defer done()

	for _, id := range []string{"one", "two"} { // two heartbeats each
		extended(id, extended(id, extended(id, time.Time{})))
	}
	done()
	ended.Wait()
	if n := seen.count("SELECT count(*) FROM idem.keys WHERE status = 'committed'"); n != 2 {
		t.Errorf("%d keys completed beside the busy pool, want 2", n)
	}
	if busy, n := b.pool.Stat().AcquiredConns(), sessions(); busy != 2 || n != 4 {
		t.Errorf("%d connections of the pool are checked out, %d sessions in all; want 2 and the store's own 2", busy, n)
	}
	store.Close()
	seen.eventually(func() bool { return sessions() == 2 }, "sessions of the store outlive Close")
	seen.eventually(func() bool { return goleak.Find(before) == nil }, "goroutines of the store outlive Close")
}
