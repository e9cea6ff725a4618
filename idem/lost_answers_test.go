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
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/devpg"
	"github.com/pgidem/pgidem/internal/pgproxy"
	"github.com/pgidem/pgidem/internal/testdb"
)

// throughProxy is a store whose statements go through p, as text, so that the proxy sees the COMMITs.
func (b *bundle) throughProxy(p *pgproxy.Proxy, policy idem.Policy, mutate ...func(*pgxpool.Config)) *idem.Store {
	b.t.Helper()
	url := pgproxy.Start(b.t, p, b.pool.Config().ConnString())
	pool := testdb.Pool(b.t, url, append(mutate, func(c *pgxpool.Config) {
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	})...)
	s := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool, Policy: policy}
	b.t.Cleanup(s.Close)
	return s
}

// C01: COMMIT goes unanswered in every way a network has, while other callers read and claim the same key. In each of 200 runs
// there is one charge, and whoever gets an answer gets the one that stands.
func TestC01CommitThatGoesUnansweredIsReadBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	faults := []pgproxy.Fault{pgproxy.CutBefore, pgproxy.DropAnswer, pgproxy.DelayAnswer, pgproxy.Pass}
	var turn atomic.Int64
	proxy := &pgproxy.Proxy{
		Delay:    6 * time.Second, // past the 5 s after which a call reads back
		OnCommit: func() pgproxy.Fault { return faults[turn.Add(1)%int64(len(faults))] },
	}
	policy := idem.Policy{Retention: time.Hour, Wait: 10 * time.Second}
	faulty := b.throughProxy(proxy, policy, func(c *pgxpool.Config) { c.MaxConns = 60 })
	rival := b.newStore(policy)

	var runs sync.WaitGroup
	room := make(chan struct{}, 50)
	for i := range 200 {
		room <- struct{}{}
		runs.Go(func() {
			defer func() { <-room }()
			id := fmt.Sprintf("k%d", i)
			answers := make(chan *idem.Response, 3)
			call := func(s *idem.Store) {
				resp, err := s.Do(b.ctx, b.key(id), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
					var charge int64
					err := tx.QueryRow(ctx, "INSERT INTO charges (key) VALUES ($1) RETURNING id", id).Scan(&charge)
					return &idem.Response{Status: 201, Body: fmt.Appendf(nil, "%d", charge)}, err
				})
				switch {
				case err == nil:
					answers <- resp
				case errors.Is(err, idem.ErrUnavailable), errors.Is(err, idem.ErrInFlight), errors.Is(err, idem.ErrContended):
				default: // unknown would be honest here only if the read-back failed, and it goes through a proxy that lives
					t.Errorf("%s: %v", id, err)
				}
			}
			var calls sync.WaitGroup
			calls.Go(func() { call(faulty) })
			calls.Go(func() {
				time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
				_, _ = rival.Lookup(b.ctx, b.key(id))
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

// A caller that is cancelled while COMMIT waits for a synchronous standby must not make pgx send a cancel request, which would
// end the wait: the commit would be visible and never replicated.
func TestCancelDuringCommitNeverReachesTheServer(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t, devpg.Options{Settings: map[string]string{"synchronous_standby_names": "nobody", "synchronous_commit": "local"}})
	pool := testdb.Pool(t, server.URL, testdb.AsSuperuser, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["synchronous_commit"] = "on" })
	store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool, Policy: idem.Policy{Retention: time.Hour}}
	defer store.Close()
	b := &bundle{t: t, ctx: t.Context(), pool: server.Pool, store: store}

	for name, call := range map[string]func(context.Context, idem.Key) error{
		"Do": func(ctx context.Context, key idem.Key) error {
			_, err := store.Do(ctx, key, func(context.Context, pgx.Tx) (*idem.Response, error) { return created(), nil })
			return err
		},
		"Claim": func(ctx context.Context, key idem.Key) error {
			_, _, err := store.Claim(ctx, key)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			ctx, cancel := context.WithCancel(b.ctx)
			ended := make(chan error, 1)
			go func() { ended <- call(ctx, b.key("k")) }()
			waiting := func() int {
				return b.count("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query NOT LIKE '%pg_stat_activity%'")
			}
			b.eventually(func() bool { return waiting() >= 1 }, "COMMIT never waited for the standby")
			cancel()
			if err := <-ended; err == nil {
				t.Error("the call succeeded though its commit was not replicated")
			}
			if n := waiting(); n < 1 {
				t.Error("the wait for the standby was ended")
			}
			if _, err := server.Pool.Exec(b.ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"); err != nil {
				t.Fatal(err)
			}
			b.eventually(func() bool { return waiting() == 0 }, "the wait outlived its session")
		})
	}
}

// A completion whose answer is lost is tried again, and the second try knows the first one's record for its own.
func TestCompletionWhoseAnswerWasLostIsASuccess(t *testing.T) {
	b := setup(t)
	var lose atomic.Bool
	proxy := &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
		if lose.Swap(false) {
			return pgproxy.DropAnswer
		}
		return pgproxy.Pass
	}}
	store := b.throughProxy(proxy, idem.Policy{Retention: time.Hour})
	lease, _, err := store.Claim(b.ctx, b.key("k"))
	if err != nil {
		t.Fatal(err)
	}
	lose.Store(true)
	if err := lease.Complete(b.ctx, created()); err != nil {
		t.Errorf("the second try says %v", err)
	}
	if lose.Load() {
		t.Error("no answer was lost")
	}
	resp, err := store.Hold(b.ctx, b.key("k"), nil)
	if err != nil || !resp.Replayed || resp.Status != 201 {
		t.Errorf("got %+v, %v; want a replay", resp, err)
	}
}

// A claim whose answer is lost is read back by its claim id and used.
func TestClaimWhoseAnswerWasLostIsUsed(t *testing.T) {
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
	ran := false
	resp, err := store.Hold(b.ctx, b.key("k"), func(_ context.Context, l *idem.Lease) (*idem.Response, error) {
		ran = true
		if l.Attempt() != 1 {
			t.Errorf("attempt %d, want 1", l.Attempt())
		}
		return created(), nil
	})
	if err != nil || !ran || resp.Status != 201 {
		t.Fatalf("ran %v, got %+v, %v", ran, resp, err)
	}
}

// A caller that gives up while its claim waits leaves the key free.
func TestCancelledClaimIsGivenBack(t *testing.T) {
	b := setup(t)
	holder := b.begin()
	b.claimBy(holder, b.key("k"))
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() {
		_, _, err := b.newStore(idem.Policy{Retention: time.Hour, Wait: 20 * time.Second}).Claim(ctx, b.key("k"))
		ended <- err
	}()
	b.waitBlocked(1)
	cancel()
	b.rollback(holder) // the waiting claim wins now
	wantIs(t, <-ended, context.Canceled)
	lease, _, err := b.store.Claim(b.ctx, b.key("k"))
	if err != nil {
		t.Fatalf("the key was not given back: %v", err)
	}
	if err := lease.Abandon(b.ctx); err != nil {
		t.Fatal(err)
	}
}
