package idem_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
)

// insert is a step's local row.
func insert(ctx context.Context, tx pgx.Tx) ([]byte, error) {
	_, err := tx.Exec(ctx, "INSERT INTO charges (key) VALUES ('k')")
	return []byte("noted"), err
}

func TestStepTxCommitsItsRowsWithItsRecord(t *testing.T) {
	b := setup(t)
	store := b.newStore(rerun)
	for name, c := range map[string]struct {
		fn   func(context.Context, pgx.Tx) ([]byte, error)
		want error
		rows int
	}{
		"kept": {insert, nil, 1},
		"its own error": {func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			_, _ = insert(ctx, tx)
			return nil, errCrash
		}, errCrash, 0},
		"an SQL error that is ignored": {func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			_, _ = insert(ctx, tx)
			_, _ = tx.Exec(ctx, "SELECT 1/0")
			return nil, nil
		}, pgx.ErrTxCommitRollback, 0},
		"COMMIT by fn": {func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			_, _ = insert(ctx, tx)
			_, _ = tx.Exec(ctx, "COMMIT")
			return nil, nil
		}, idem.ErrTxOwned, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			b.exec("TRUNCATE charges")
			lease := b.held(store, "k")
			_, err := lease.StepTx(b.ctx, "note", c.fn)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if b.charges("k") != c.rows || b.steps(b.key("k")) != c.rows {
				t.Errorf("%d rows, %d steps; want %d", b.charges("k"), b.steps(b.key("k")), c.rows)
			}
			if c.want != nil { // the next try runs it
				output, err := lease.StepTx(b.ctx, "note", insert)
				if err != nil || string(output) != "noted" || b.charges("k") != 1 {
					t.Errorf("again: %q, %v, %d rows", output, err, b.charges("k"))
				}
			}
		})
	}
}

func TestStepTxOfALostLeaseCommitsNothing(t *testing.T) {
	b := setup(t)
	store, rival := b.newStore(rerun), b.newStore(rerun)
	for name, lose := range map[string]func(b *bundle, key idem.Key){
		"taken over":               func(b *bundle, _ idem.Key) { b.held(rival, "k") },
		"taken over and finished":  func(b *bundle, _ idem.Key) { _ = b.held(rival, "k").Complete(b.ctx, created()) },
		"forgotten":                func(b *bundle, key idem.Key) { b.delete(key) },
		"taken over and abandoned": func(b *bundle, _ idem.Key) { _ = b.held(rival, "k").Abandon(b.ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			b.exec("TRUNCATE charges")
			key := b.key("k")
			lease := b.held(store, "k")
			_, err := lease.StepTx(b.ctx, "note", func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
				b.age(key, 2*rerun.Lease)
				lose(b, key)
				return insert(ctx, tx)
			})
			wantIs(t, err, idem.ErrLeaseLost)
			if n := b.charges("k"); n != 0 {
				t.Errorf("%d rows of a lost lease were committed", n)
			}
		})
	}
}

// An open StepTx holds no lock on the key, so the heartbeat goes on and the lease lives for as long as fn takes.
func TestOpenStepTxLongerThanTheLeaseDoesNotLoseIt(t *testing.T) {
	b := setup(t)
	store := b.newStore(idem.Policy{Lease: 500 * time.Millisecond, Stale: idem.StaleRerun})
	resp, err := store.Hold(b.ctx, b.key("k"), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		_, err := l.StepTx(ctx, "note", func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			for range 15 { // three leases; its own statements keep the session from being idle
				if _, err := tx.Exec(ctx, "SELECT pg_sleep(0.1)"); err != nil {
					return nil, err
				}
			}
			return insert(ctx, tx)
		})
		return created(), err
	})
	if err != nil || resp.Replayed || b.charges("k") != 1 {
		t.Errorf("%+v, %v, %d rows", resp, err, b.charges("k"))
	}
}

// The commit's answer is lost in every way a network has; the step runs once all the same.
func TestStepTxWhoseCommitGoesUnansweredIsReadBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		fault pgproxy.Fault
		stood bool
	}{
		"never arrived": {pgproxy.CutBefore, false},
		"committed":     {pgproxy.DropAnswer, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			b.exec("TRUNCATE charges")
			armed := false
			proxy := &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
				if armed {
					armed = false
					return c.fault
				}
				return pgproxy.Pass
			}}
			store := b.throughProxy(proxy, rerun, func(c *pgxpool.Config) { c.MaxConns = 4 })
			lease := b.held(store, "k")
			output, err := lease.StepTx(b.ctx, "note", func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
				armed = true
				return insert(ctx, tx)
			})
			if c.stood != (err == nil) || c.stood && string(output) != "noted" {
				t.Errorf("%q, %v", output, err)
			}
			if output, err = lease.StepTx(b.ctx, "note", insert); !c.stood && (err != nil || string(output) != "noted") {
				t.Errorf("again: %q, %v", output, err)
			}
			if b.charges("k") != 1 || b.steps(b.key("k")) != 1 {
				t.Errorf("%d rows, %d steps", b.charges("k"), b.steps(b.key("k")))
			}
		})
	}
}
