package design

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
)

var payment = Payment{Key: "4f0f1d6c", Customer: "customer 1", AmountCents: 49_00}

func setup(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := testdb.New(t)
	if err := Install(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

// charges counts what was taken, wherever.
func charges(t *testing.T, pool *pgxpool.Pool) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM lab.charged").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestProcessorRefusesARepeatedKey(t *testing.T) {
	pool := setup(t)
	processor := Processor{Pool: pool}
	first, err := processor.Charge(t.Context(), "key 1", payment)
	if err != nil {
		t.Fatal(err)
	}
	again, err := processor.Charge(t.Context(), "key 1", payment)
	if err != nil || again != first || charges(t, pool) != 1 {
		t.Errorf("repeated: charge %d, %v, %d charges in all; want charge %d, the only one", again, err, charges(t, pool), first)
	}
	other, err := processor.Charge(t.Context(), "key 2", payment)
	if err != nil || other == first || charges(t, pool) != 2 {
		t.Errorf("under another key: charge %d, %v, %d charges in all; want a second one", other, err, charges(t, pool))
	}
}

func TestHoldAsksAgainUnderTheSameKeyAfterACrash(t *testing.T) {
	pool := setup(t)
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Stale: idem.StaleRerun}}
	t.Cleanup(store.Close)

	d := Hold{Store: store, Processor: Processor{Pool: pool}}
	lease, _, err := store.Claim(t.Context(), keyOf(payment))
	if err != nil {
		t.Fatal(err)
	}
	charge, err := d.Processor.Charge(t.Context(), lease.DownstreamKey("charge"), payment)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Abandon(t.Context()); err != nil { // what becomes of a lease whose holder is gone, without the wait
		t.Fatal(err)
	}
	o, err := d.Pay(t.Context(), payment)
	if err != nil || o.Kind != Charged || o.ChargeID != charge {
		t.Errorf("the retry got %+v, %v; want the charge %d", o, err, charge)
	}
	if n := charges(t, pool); n != 1 {
		t.Errorf("%d charges, want 1", n)
	}
}
