package idem_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
)

// failures are work's own statements that the server refuses, by the SQLSTATE of the last error. The rows of table ledger are
// unique, and above 0.
var failures = map[string]func(context.Context, pgx.Tx) error{
	"23505": func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO ledger (entry, cents) VALUES (1, 1)")
		return err
	},
	"23514": func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO ledger (entry, cents) VALUES (2, 0)")
		return err
	},
	"25P02": func(ctx context.Context, tx pgx.Tx) error {
		_, _ = tx.Exec(ctx, "SELECT 1/0")
		_, err := tx.Exec(ctx, "INSERT INTO ledger (entry, cents) VALUES (3, 3)")
		return err
	},
	"23505 at COMMIT": func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO ledger (entry, cents, late) VALUES (4, 4, 1)")
		return err
	},
}

// Article 000: the path that cleans up is the one that never runs, because the transaction that failed takes it along. However
// the work's own statements fail and whatever it makes of that, its key is not held when the call returns.
func TestFailedStatementOfTheWorkLeavesNoKeyInFlight(t *testing.T) {
	b := setup(t)
	b.exec("CREATE TABLE ledger (entry bigint PRIMARY KEY, cents bigint NOT NULL CHECK (cents > 0), late bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)")
	b.exec("INSERT INTO ledger VALUES (1, 1, 1)")
	for code, fail := range failures {
		failing := func(ctx context.Context) error {
			return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error { return fail(ctx, tx) })
		}
		for ending, test := range map[string]struct {
			work idem.Work
			want idem.State
		}{
			"an error": {func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) { return nil, failing(ctx) }, idem.StateAbandoned},
			"an error that nothing came of": {func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
				return nil, idem.Transient(failing(ctx))
			}, idem.StateReleased},
			"an error after a call": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				l.DownstreamKey("charge")
				l.DownstreamKey("refund")
				return nil, idem.Transient(failing(ctx))
			}, idem.StateAbandoned},
			"an answer": {func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
				_ = failing(ctx)
				return created(), nil
			}, idem.StateCommitted},
			"an error of CompleteTx": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				return nil, pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
					err := fail(ctx, tx)
					return errors.Join(err, l.CompleteTx(ctx, tx, created()))
				})
			}, idem.StateAbandoned},
			"a CompleteTx that is rolled back": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				return nil, pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
					if err := l.CompleteTx(ctx, tx, created()); err != nil {
						return err
					}
					return fail(ctx, tx)
				})
			}, idem.StateAbandoned},
			"a CompleteTx that is rolled back, and nothing": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				_ = pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
					_ = fail(ctx, tx)
					return l.CompleteTx(ctx, tx, created())
				})
				return nil, nil
			}, idem.StateAbandoned},
			"a step that fails": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				_, err := l.StepTx(ctx, "book", func(ctx context.Context, tx pgx.Tx) ([]byte, error) { return nil, fail(ctx, tx) })
				return nil, err
			}, idem.StateAbandoned},
			"a panic": {func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
				_ = pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
					_ = l.CompleteTx(ctx, tx, created())
					panic(fail(ctx, tx))
				})
				return nil, nil
			}, idem.StateAbandoned},
		} {
			t.Run(code+"/"+ending, func(t *testing.T) {
				b := b.on(t)
				key := b.key("k")
				_ = run(func() (*idem.Response, error) { return b.newStore(rerun).Hold(b.ctx, key, test.work) })
				if got := b.record(key).State; got != test.want {
					t.Errorf("the key is %s, want %s", got, test.want)
				}
				if n := b.count("SELECT count(*) FROM ledger"); n != 1 {
					t.Errorf("%d rows in the ledger, want the one that stood there", n)
				}
			})
		}
	}
}

// record is the key as it stands.
func (b *bundle) record(key idem.Key) *idem.Record {
	b.t.Helper()
	record, err := b.store.Lookup(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	return record
}

// A CompleteTx that is left open holds the lock of its own key's row, and heartbeats share one connection.
func TestOpenCompleteTxDoesNotStopTheOtherHeartbeats(t *testing.T) {
	b := setup(t)
	store := b.process(idem.Policy{Lease: 900 * time.Millisecond, Retention: time.Hour})
	open, others := b.sharing("the open one", store), []*session{b.sharing("another", store), b.sharing("a third", store)}
	steps := []step{
		open.holds(b.key("open"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
			tx := b.begin()
			if err := l.CompleteTx(ctx, tx, created()); err != nil {
				return nil, err
			}
			for i, other := range others {
				lives := fmt.Sprintf(`SELECT count(*) FROM idem.keys WHERE key = 'k%d' AND locked_until > statement_timestamp()
					AND claimed_at < statement_timestamp() - interval '2700 ms' AND attempts = 1`, i)
				lapsed := fmt.Sprintf("SELECT count(*) FROM idem.keys WHERE key = 'k%d' AND locked_until < statement_timestamp()", i)
				b.eventually(func() bool {
					if b.count(lapsed) > 0 {
						t.Errorf("the lease of %s lapsed beside an open CompleteTx", other.name)
					}
					return b.count(lives) == 1
				}, "%s has lost its lease", other.name)
			}
			return nil, tx.Commit(ctx)
		}),
		open.works(),
	}
	for i, other := range others {
		steps = append(steps, other.holds(b.key(fmt.Sprintf("k%d", i)), answers(created())), other.works())
	}
	steps = append(steps, open.goesOn(), open.gets("its own answer", created()))
	for _, other := range others {
		steps = append(steps, other.goesOn(), other.gets("its own answer", created()))
	}
	b.inOrder(steps...)
}

// Nobody took the key, so a holder that nobody heard of for longer than its lease is its holder still.
func TestWorkWhoseHeartbeatIsCutCompletes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, cut := range map[string]func(*pgproxy.Proxy) (mend func()){
		"every connection is silent": func(p *pgproxy.Proxy) func() {
			p.Partition(true)
			return func() {
				p.Partition(false)
				p.Cut() // whoever waits for an answer that was swallowed
			}
		},
		"every connection is cut, again and again": func(p *pgproxy.Proxy) func() {
			over, ended := make(chan struct{}), sync.WaitGroup{}
			ended.Go(func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(time.Millisecond):
						p.Cut()
					}
				}
			})
			return func() { close(over); ended.Wait() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			proxy := new(pgproxy.Proxy)
			store := b.throughProxy(proxy, idem.Policy{Lease: 600 * time.Millisecond, Retention: time.Hour, Stale: idem.StaleRerun})
			key := b.key("k")
			resp, err := store.Hold(b.ctx, key, func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
				mend := cut(proxy)
				defer mend()
				b.eventually(func() bool {
					return b.count("SELECT count(*) FROM idem.keys WHERE tenant_id = $1 AND locked_until < statement_timestamp()", key.Tenant) == 1
				}, "its heartbeat lives")
				return created(), context.Cause(ctx)
			})
			if err != nil || resp.Replayed {
				t.Fatalf("%+v, %v; want its own answer", resp, err)
			}
			if again, err := b.store.Hold(b.ctx, key, holdMustNotRun(t)); err != nil || !again.Replayed {
				t.Errorf("%+v, %v; want a replay", again, err)
			}
		})
	}
}
