package processor_test

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/internal/testdb"
)

func TestInstallMayRunAgainAndAtOnce(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	var group errgroup.Group
	for range 8 {
		group.Go(func() error { return processor.Install(t.Context(), pool) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	b := on(t, pool, processor.Behaviour{})
	b.charge("k-1")
	if err := processor.Install(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	b.wantCharges(1, 0)
}

// A processor that starts again has its table, and nothing of what had not landed.
func TestChargesOutliveTheProcess(t *testing.T) {
	t.Parallel()
	b := setup(t, processor.Behaviour{})
	first := b.charge("k-1")
	again := on(t, b.pool, processor.Behaviour{})
	if r := again.charge("k-1"); !r.Replayed || r.ID != first.ID {
		t.Errorf("%+v, want the charge of the process before", r)
	}
	again.wantCharges(1, 0)
}
