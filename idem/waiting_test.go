package idem_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// slack is what a noisy machine adds to a wait that is bounded.
const slack = 2 * time.Second

// wantBounded runs call and checks that it took no longer than most.
func wantBounded(t *testing.T, most time.Duration, call func()) {
	t.Helper()
	began := time.Now()
	call()
	if took := time.Since(began); took > most {
		t.Errorf("took %v, want at most %v", took, most)
	}
}

// The budget is for the whole wait: a claim behind a row of holders, each of which rolls back, does not start it again.
func TestClaimBehindHoldersThatRollBackInTurnWaitsForWaitOnly(t *testing.T) {
	b := setup(t, func(c *pgxpool.Config) { c.MaxConns = 30 })
	store := b.newStore(idem.Policy{Retention: time.Hour, Wait: time.Second})
	for try := 1; ; try++ { // whoever waits may win when a holder rolls back; the store too, and then the try says nothing
		if try > 10 {
			t.Fatal("the store won the key ten times against sixteen rivals")
		}
		if err := claimBehindRivals(b, store, b.key(fmt.Sprint("k", try))); err != nil {
			wantIs(t, err, idem.ErrInFlight)
			return
		}
	}
}

// claimBehindRivals lets sixteen rivals have key one after the other, a third of Wait each, while store waits for it.
func claimBehindRivals(b *bundle, store *idem.Store, key idem.Key) error {
	const rivals = 16
	first := b.begin()
	b.claimBy(first, key)
	claimed := make(chan pgx.Tx, rivals)
	for n := range rivals {
		tx := b.begin()
		go func() {
			b.claimBy(tx, key)
			claimed <- tx
		}()
		b.waitBlocked(n + 1)
	}
	ended := make(chan error, 1)
	go func() {
		wantBounded(b.t, store.Policy.Wait+slack, func() {
			_, err := store.Do(b.ctx, key, func(context.Context, pgx.Tx) (*idem.Response, error) { return nil, errors.ErrUnsupported })
			if errors.Is(err, errors.ErrUnsupported) {
				err = nil // it won, and rolled back
			}
			ended <- err
		})
	}()
	b.waitBlocked(rivals + 1)
	b.rollback(first)
	var err error
	answered := false
	for range rivals {
		tx := <-claimed
		select {
		case err = <-ended:
			answered = true
		case <-time.After(map[bool]time.Duration{false: store.Policy.Wait / 3}[answered]):
		}
		b.rollback(tx)
	}
	if !answered {
		err = <-ended
	}
	return err
}

func TestWaitOfLessThanAMillisecondIsNotForEver(t *testing.T) {
	b := setup(t)
	b.claimBy(b.begin(), b.key("k"))
	for _, wait := range []time.Duration{400 * time.Microsecond, time.Nanosecond, -1} {
		store := b.newStore(idem.Policy{Retention: time.Hour, Wait: wait})
		wantBounded(t, slack, func() {
			_, err := store.Do(b.ctx, b.key("k"), mustNotRun(t))
			wantIs(t, err, idem.ErrInFlight)
			if after, ok := idem.RetryAfter(err); !ok || after != time.Second {
				t.Errorf("Wait %v: RetryAfter %v, %v; want 1s", wait, after, ok)
			}
		})
	}
}

func TestWaitBelowZeroNeverFailsAnUncontendedClaim(t *testing.T) {
	b := setup(t, func(c *pgxpool.Config) { c.MaxConns = 64 })
	store := b.newStore(idem.Policy{Retention: time.Hour, Wait: -1})
	claims := int64(scaled(t, 10_000))
	var next atomic.Int64
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for n := next.Add(1); n <= claims; n = next.Add(1) {
				_, err := store.Do(b.ctx, b.key(fmt.Sprint(n)), func(context.Context, pgx.Tx) (*idem.Response, error) { return created(), nil })
				if err != nil {
					t.Errorf("claim %d: %v", n, err)
				}
			}
		})
	}
	callers.Wait()
}

// A statement's times are computed before it waits, so in lease mode no claim may wait longer than a third of its lease.
func TestNoClaimIsBornLapsed(t *testing.T) {
	b := setup(t)
	b.claimBy(b.begin(), b.key("k"))
	store := b.newStore(idem.Policy{Retention: time.Hour, Lease: 300 * time.Millisecond, Wait: 10 * time.Second})
	wantBounded(t, slack, func() {
		_, _, err := store.Claim(b.ctx, b.key("k"))
		wantIs(t, err, idem.ErrInFlight)
	})
}

// Two processes with a hundred callers each: one effect, and everyone is answered soon after Wait, the first included.
func TestTwoProcessesWithAHundredCallersEachHaveOneEffect(t *testing.T) {
	b := setup(t)
	const wait = time.Second
	var longest atomic.Int64
	var replays, conflicts, firsts atomic.Int32
	var callers sync.WaitGroup
	start := make(chan struct{})
	for range 2 {
		store := b.newStore(idem.Policy{Retention: time.Hour, Wait: wait})
		for range 100 {
			callers.Go(func() {
				<-start
				began := time.Now()
				ran := false
				resp, err := store.Do(b.ctx, b.key("k"), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
					ran = true
					time.Sleep(wait + 500*time.Millisecond)
					return charge("k")(ctx, tx)
				})
				switch {
				case ran:
					firsts.Add(1)
					return
				case errors.Is(err, idem.ErrInFlight):
					conflicts.Add(1)
				case err != nil:
					t.Error(err)
				case resp.Replayed:
					replays.Add(1)
				}
				for took := int64(time.Since(began)); ; {
					if seen := longest.Load(); took <= seen || longest.CompareAndSwap(seen, took) {
						break
					}
				}
			})
		}
	}
	close(start)
	callers.Wait()
	if n := b.charges("k"); n != 1 || firsts.Load() != 1 {
		t.Errorf("%d charges by %d runs, want 1 by 1", n, firsts.Load())
	}
	t.Logf("%d replays, %d in flight; the longest was answered after Wait %+v", replays.Load(), conflicts.Load(), time.Duration(longest.Load())-wait)
	if over := time.Duration(longest.Load()) - wait; over > slack {
		t.Errorf("a caller was answered %v after Wait", over)
	}
}

// Two transactions that take two keys in opposite order are a deadlock that PostgreSQL sees: one is told to run again, the
// other goes on, and no key is lost.
func TestTwoDoTxInOppositeOrderEndInOneDeadlock(t *testing.T) {
	b := setup(t)
	store := b.newStore(idem.Policy{Retention: time.Hour, Wait: time.Minute})
	take := func(tx pgx.Tx, id string) error {
		_, err := store.DoTx(b.ctx, tx, b.key(id), charge(id))
		return err
	}
	one, two := b.begin(), b.begin()
	if err := errors.Join(take(one, "a"), take(two, "b")); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	finish := func(tx pgx.Tx, id string) {
		err := take(tx, id)
		if err != nil {
			b.rollback(tx)
		} else if err := tx.Commit(b.ctx); err != nil {
			t.Error(err)
		}
		ended <- err
	}
	go finish(one, "b")
	b.waitBlocked(1)
	go finish(two, "a")
	errs := []error{<-ended, <-ended}
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("got %v, want one deadlock", errs)
	}
	err := errors.Join(errs...)
	if code := sqlState(err); code != "40P01" || errors.Is(err, idem.ErrUnavailable) {
		t.Errorf("got %v, want SQLSTATE 40P01 unchanged", err)
	}
	for _, id := range []string{"a", "b"} {
		resp, err := store.Do(b.ctx, b.key(id), mustNotRun(t))
		if err != nil || !resp.Replayed || b.charges(id) != 1 {
			t.Errorf("key %s: %+v, %v, %d charges; want the answer of the transaction that committed", id, resp, err, b.charges(id))
		}
	}
}

// Under REPEATABLE READ and SERIALIZABLE a rival's commit is 40001, which is the caller's to act on; its rerun replays.
func TestDoTxUnderStricterIsolationPassesOn40001(t *testing.T) {
	b := setup(t)
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		id := string(level)
		begin := func() pgx.Tx {
			tx, err := b.pool.BeginTx(b.ctx, pgx.TxOptions{IsoLevel: level})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(b.ctx, "SELECT 1"); err != nil { // takes the snapshot
				t.Fatal(err)
			}
			return tx
		}
		tx := begin()
		if _, err := b.store.Do(b.ctx, b.key(id), charge(id)); err != nil {
			t.Fatal(err)
		}
		_, err := b.store.DoTx(b.ctx, tx, b.key(id), mustNotRun(t))
		if raw, ok := err.(*pgconn.PgError); !ok || raw.Code != "40001" {
			t.Errorf("%s: got %T %v, want SQLSTATE 40001 unchanged", level, err, err)
		}
		var usable int
		if err := tx.QueryRow(b.ctx, "SELECT 1").Scan(&usable); err != nil {
			t.Errorf("%s: the caller's transaction does not live: %v", level, err)
		}
		b.rollback(tx)
		tx = begin()
		resp, err := b.store.DoTx(b.ctx, tx, b.key(id), mustNotRun(t))
		if err != nil || !resp.Replayed {
			t.Errorf("%s: the rerun got %+v, %v; want a replay", level, resp, err)
		}
		b.rollback(tx)
	}
}

// After a time-out the caller's transaction lives, its settings are its own, and no key is left.
func TestDoTxLeavesTheCallersTransactionAsItWas(t *testing.T) {
	b := setup(t)
	b.claimBy(b.begin(), b.key("held"))
	store := b.newStore(idem.Policy{Retention: time.Hour, Wait: 50 * time.Millisecond})
	failing := func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		_, err := tx.Exec(ctx, "INSERT INTO no_such_table VALUES (1)")
		return nil, err
	}
	for id, work := range map[string]idem.TxWork{"held": mustNotRun(t), "failing": failing, "fine": charge("fine")} {
		t.Run(id, func(t *testing.T) {
			tx := b.begin()
			for _, set := range []string{"SET LOCAL statement_timeout = '12s'", "SET LOCAL lock_timeout = '11s'",
				"SET LOCAL idle_in_transaction_session_timeout = '10s'", "SET LOCAL client_connection_check_interval = '9s'",
				"INSERT INTO charges (key) VALUES ('before')"} {
				if _, err := tx.Exec(b.ctx, set); err != nil {
					t.Fatal(err)
				}
			}
			_, err := store.DoTx(b.ctx, tx, b.key(id), work)
			if (err == nil) != (id == "fine") {
				t.Fatalf("got error %v", err)
			}
			for setting, want := range map[string]string{"statement_timeout": "12s", "lock_timeout": "11s",
				"idle_in_transaction_session_timeout": "10s", "client_connection_check_interval": "9s"} {
				var got string
				if err := tx.QueryRow(b.ctx, "SELECT current_setting($1)", setting).Scan(&got); err != nil {
					t.Fatalf("the transaction does not live: %v", err)
				}
				if got != want {
					t.Errorf("%s is %s, want %s", setting, got, want)
				}
			}
			if err := tx.Commit(b.ctx); err != nil {
				t.Fatal(err)
			}
			left := b.count("SELECT count(*) FROM idem.keys WHERE key = $1", id)
			if want := map[bool]int{true: 1}[id == "fine"]; left != want {
				t.Errorf("%d keys left, want %d", left, want)
			}
		})
	}
	if n := b.charges("before"); n != 3 {
		t.Errorf("%d of the caller's own rows were committed, want 3", n)
	}
}
