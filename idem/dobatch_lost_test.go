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

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/pgproxy"
	"github.com/pgidem/pgidem/internal/testdb"
)

// C01 for a batch: the trip that holds COMMIT is lost in every way a network has, while others claim the same key.
func TestC01DoBatchThatGoesUnansweredIsReadBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	faults := []pgproxy.Fault{pgproxy.CutBefore, pgproxy.DropAnswer, pgproxy.DelayAnswer, pgproxy.Pass}
	var turn atomic.Int64
	proxy := &pgproxy.Proxy{
		Delay:    500 * time.Millisecond,
		OnCommit: func() pgproxy.Fault { return faults[turn.Add(1)%int64(len(faults))] },
	}
	policy := idem.Policy{Retention: time.Hour, Wait: 10 * time.Second}
	faulty := b.throughProxy(proxy, policy, func(c *pgxpool.Config) { c.MaxConns = 30 })
	rival := b.newStore(policy)

	var runs sync.WaitGroup
	room := make(chan struct{}, 20)
	for i := range 100 {
		room <- struct{}{}
		runs.Go(func() {
			defer func() { <-room }()
			id := fmt.Sprintf("k%d", i)
			answers := make(chan *idem.Response, 3)
			call := func(s *idem.Store) {
				resp, err := s.DoBatch(b.ctx, b.key(id), charging(id))
				switch {
				case err == nil:
					answers <- resp
				case errors.Is(err, idem.ErrCommitUnknown), errors.Is(err, idem.ErrInFlight), errors.Is(err, idem.ErrContended):
				default:
					t.Errorf("%s: %v", id, err)
				}
			}
			var calls sync.WaitGroup
			calls.Go(func() { call(faulty) })
			calls.Go(func() {
				time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
				call(rival)
			})
			calls.Wait()
			call(rival) // the client's retry
			close(answers)
			var first *idem.Response
			for resp := range answers {
				if first == nil {
					first = resp
				}
				if string(resp.Body) != string(first.Body) {
					t.Errorf("%s: answered %s and %s", id, first.Body, resp.Body)
				}
			}
			if first == nil {
				t.Errorf("%s: the retry got no answer", id)
			}
			if n := b.charges(id); n != 1 {
				t.Errorf("%s: %d charges, want 1", id, n)
			}
		})
	}
	runs.Wait()
}

// The answer of a batch whose COMMIT was confirmed to nobody is the one that stands, with all that it has.
func TestDoBatchWhoseAnswerIsLostReturnsTheRecordedOne(t *testing.T) {
	b := setup(t)
	var lose atomic.Bool
	lose.Store(true)
	proxy := &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
		if lose.Swap(false) {
			return pgproxy.DropAnswer
		}
		return pgproxy.Pass
	}}
	store := b.throughProxy(proxy, idem.Policy{Retention: time.Hour})
	first, err := store.DoBatch(b.ctx, b.key("k"), charging("k"))
	if err != nil || first.Replayed || first.Status != 201 || first.CompletedAt.IsZero() || first.Header["Location"][0] != "/charges/1" || lose.Load() {
		t.Fatalf("got %+v, %v", first, err)
	}
	again, err := store.DoBatch(b.ctx, b.key("k"), charging("k"))
	if err != nil || !again.Replayed || string(again.Body) != string(first.Body) || b.charges("k") != 1 {
		t.Errorf("got %+v, %v and %d charges", again, err, b.charges("k"))
	}
}

// A server that falls silent is given up after Wait, Lease and 5 s, and so is a caller's patience after 5 s: never a guess.
func TestDoBatchOnASilentServerIsUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, cancels := range map[string]bool{"nobody gives up": false, "the caller gives up": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := b.on(t)
			proxy := &pgproxy.Proxy{}
			store := b.throughProxy(proxy, idem.Policy{Retention: time.Hour, Wait: -1, Lease: map[bool]time.Duration{false: time.Second, true: time.Minute}[cancels]})
			if _, err := store.DoBatch(b.ctx, b.key("warm"), charging("warm")); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.ctx)
			defer cancel()
			proxy.Partition(true)
			defer proxy.Cut()
			if cancels {
				time.AfterFunc(100*time.Millisecond, cancel)
			}
			wantBounded(t, 15*time.Second, func() {
				_, err := store.DoBatch(ctx, b.key("k"), charging(name))
				wantIs(t, err, idem.ErrCommitUnknown)
			})
			if n := b.charges(name); n != 0 {
				t.Errorf("%d charges", n)
			}
		})
	}
}

// A caller that gives up before anything is sent gets its own error; one that gives up later gets the answer, if it comes soon.
func TestDoBatchOfACallerThatGivesUp(t *testing.T) {
	b := setup(t)
	gone, cancel := context.WithCancelCause(b.ctx)
	cause := errors.New("the client has gone")
	cancel(cause)
	_, err := b.store.DoBatch(gone, b.key("before"), charging("before"))
	wantIs(t, err, cause)
	if b.row(b.key("before")) != "" || b.charges("before") != 0 {
		t.Error("it ran all the same")
	}

	gate := b.begin()
	if _, err := gate.Exec(b.ctx, "LOCK TABLE charges IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	late := b.session("late")
	b.inOrder(
		late.batches(b.key("k"), charging("k")), b.blocked(1),
		do("the caller gives up", func() { late.cancel(cause) }),
		do("the statement goes on", func() { b.rollback(gate) }),
	)
	late.wait()
	if late.err != nil || late.resp.Status != 201 || b.charges("k") != 1 {
		t.Errorf("got %+v, %v and %d charges; want the answer", late.resp, late.err, b.charges("k"))
	}
}

// A caller that gives up while COMMIT waits for a standby must not end that wait.
func TestCancelDuringABatchNeverReachesTheServer(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t, devpg.Options{Settings: map[string]string{"synchronous_standby_names": "nobody", "synchronous_commit": "local"}})
	pool := testdb.Pool(t, server.URL, testdb.AsSuperuser, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["synchronous_commit"] = "on" })
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: time.Hour}}
	defer store.Close()
	b := &bundle{t: t, ctx: t.Context(), pool: server.Pool, store: store}
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := store.DoBatch(ctx, b.key("k"), queue("SELECT idem.answer(200, '')"))
		ended <- err
	}()
	waiting := func() int {
		return b.count("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query NOT LIKE '%pg_stat_activity%'")
	}
	b.eventually(func() bool { return waiting() >= 1 }, "COMMIT never waited for the standby")
	cancel()
	wantIs(t, <-ended, idem.ErrCommitUnknown)
	if n := waiting(); n < 1 {
		t.Error("the wait for the standby was ended")
	}
	if _, err := server.Pool.Exec(b.ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() bool { return waiting() == 0 }, "the wait outlived its session")
}

// P5 for batches: where the database cannot say who owns the key, no statement runs, and the error helps.
func TestP5DoBatchFailsClosed(t *testing.T) {
	b := setup(t)
	for name, broken := range map[string]func(*bundle) *idem.Store{
		"there is no schema": func(b *bundle) *idem.Store { return storeOn(b.t, testdb.Pool(b.t, testdb.Empty(b.t))) },
		"the role may only read": func(b *bundle) *idem.Store {
			return b.process(idem.Policy{}, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on" })
		},
		"the claim's statement fails": func(b *bundle) *idem.Store {
			b.exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no space left'; END $$`)
			b.execAsOwner("CREATE TRIGGER claims_fail BEFORE INSERT ON idem.keys FOR EACH STATEMENT EXECUTE FUNCTION fail()")
			b.t.Cleanup(func() { b.execAsOwner("DROP TRIGGER claims_fail ON idem.keys") })
			return b.newStore(idem.Policy{})
		},
		"the Store is drained": func(b *bundle) *idem.Store {
			s := b.newStore(idem.Policy{})
			if err := s.Drain(b.ctx); err != nil {
				b.t.Fatal(err)
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			resp, err := broken(b).DoBatch(b.ctx, b.key("k"), charging("k"))
			wantUnavailable(t, "DoBatch", err)
			b.wantNothing(b.key("k"), resp, err)
		})
	}
}

// The connection dies in a statement of the user's. That nothing stands is then no proof: the batch might be on its way still.
func TestDoBatchWhoseConnectionDiesIsUnknown(t *testing.T) {
	b := setup(t)
	b.execAsOwner("CREATE FUNCTION die() RETURNS boolean LANGUAGE sql SECURITY DEFINER AS 'SELECT pg_terminate_backend(pg_backend_pid())'")
	resp, err := b.store.DoBatch(b.ctx, b.key("k"), func(b *idem.Batch) {
		charging("k")(b)
		b.Queue("SELECT die()")
	})
	wantIs(t, err, idem.ErrCommitUnknown)
	if errors.Is(err, idem.ErrUnavailable) {
		t.Errorf("%v says that nothing ran, and nobody knows", err)
	}
	b.wantNothing(b.key("k"), resp, err)
	if again, err := b.store.DoBatch(b.ctx, b.key("k"), charging("k")); err != nil || again.Replayed {
		t.Errorf("the same key got %+v, %v; want a first answer", again, err)
	}
}

// A batch that the network holds back arrives when its caller has been told already. It has not been told that nothing ran, and
// whether the batch or the retry comes first, there is one charge and one answer.
func TestDoBatchThatArrivesLateHasOneEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, retryFirst := range map[string]bool{"after the retry": true, "before the retry": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := b.on(t)
			proxy := &pgproxy.Proxy{}
			late := b.throughProxy(proxy, idem.Policy{Retention: time.Hour, Wait: -1, Lease: time.Millisecond})
			if _, err := late.DoBatch(b.ctx, b.key("warm"), charging("warm")); err != nil {
				t.Fatal(err)
			}
			direct := b.newStore(patient)
			proxy.Stall(true)
			_, err := late.DoBatch(b.ctx, b.key("k"), charging(name))
			wantIs(t, err, idem.ErrCommitUnknown)
			retry := func() {
				resp, err := direct.DoBatch(b.ctx, b.key("k"), charging(name))
				if err != nil || resp.Replayed == retryFirst {
					t.Errorf("the retry got %+v, %v", resp, err)
				}
			}
			if retryFirst {
				retry()
			}
			proxy.Stall(false)
			b.eventually(func() bool { return b.charges(name) == 1 }, "there are %d charges", b.charges(name))
			if !retryFirst {
				retry()
			}
			late.Pool.Reset()
			b.eventually(func() bool {
				return late.Pool.Stat().AcquiredConns() == 0
			}, "the late batch never ended")
			if n := b.charges(name); n != 1 {
				t.Errorf("%d charges, want 1", n)
			}
		})
	}
}
