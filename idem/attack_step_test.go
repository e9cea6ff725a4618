package idem_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgproxy"
)

// StepTx reads under a time-out. That it ran out says nothing about the lease, so it is no reason to send the work away.
func TestStepTxOnASlowDatabaseIsNotInFlight(t *testing.T) {
	b := setup(t, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec }) // preparing has no time-out
	store := b.newStore(idem.Policy{Wait: -1})
	lease := b.held(store, "k")
	conn, err := b.pool.Acquire(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, sql := range []string{"RESET ROLE", "BEGIN", "LOCK TABLE idem.steps"} {
		if _, err := conn.Exec(b.ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := lease.StepTx(b.ctx, "note", insert)
		ended <- err
	}()
	b.waitBlocked(1)
	time.Sleep(60 * time.Millisecond) // three times the least that a claim's statement gets
	if err := conn.Conn().Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || b.charges("k") != 1 {
		t.Errorf("%v, %d rows", err, b.charges("k"))
	}
}

// The record may still be on its way when it is read back, for unlike a key's it is sent with the COMMIT alone.
func TestStepTxWhoseCommitIsOnItsWayIsNotCalledUndone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	direct := b.pool.Config().ConnConfig
	var aside atomic.Bool
	proxy := new(pgproxy.Proxy)
	store := b.throughProxy(proxy, rerun, func(c *pgxpool.Config) {
		c.MaxConns = 1
		c.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
			if aside.Load() {
				c.Host, c.Port = direct.Host, direct.Port
			}
			return nil
		}
	})
	lease := b.held(store, "k")
	_, err := lease.StepTx(b.ctx, "note", func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
		output, err := insert(ctx, tx)
		aside.Store(true)
		proxy.Stall(true)
		return output, err
	})
	proxy.Stall(false)
	wantIs(t, err, idem.ErrCommitUnknown)
	b.eventually(func() bool { return b.charges("k") == 1 }, "the commit never arrived")
	output, err := lease.StepTx(b.ctx, "note", insert)
	if err != nil || string(output) != "noted" || b.charges("k") != 1 {
		t.Errorf("again: %q, %v, %d rows", output, err, b.charges("k"))
	}
}

// A step whose record went unconfirmed stands all the same, and its own run replays it.
func TestStepWhoseRecordWentUnconfirmedIsReplayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var lose atomic.Bool
	proxy := &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
		if lose.Load() {
			return pgproxy.DropAnswer
		}
		return pgproxy.Pass
	}}
	store := b.throughProxy(proxy, rerun)
	lease := b.held(store, "k")
	var d downstream
	_, err := lease.Step(b.ctx, "charge", func(ctx context.Context, key string) ([]byte, error) {
		lose.Store(true)
		return d.charge(ctx, key)
	})
	wantIs(t, err, idem.ErrCommitUnknown)
	lose.Store(false)
	output, err := lease.Step(b.ctx, "charge", d.charge)
	if err != nil || string(output) != "ch_1" || d.total() != 1 {
		t.Errorf("%q, %v, %d effects", output, err, d.total())
	}
}
