package sweep

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/workbench"
)

func TestSweep(t *testing.T) {
	x := &Sweep{Rows: 5000, Beside: 700, Batch: 200, Pairs: 3, Rate: 100}
	if err := x.Check(); err != nil {
		t.Fatal(err)
	}
	result, err := x.Run(t.Context(), new(workbench.Bench))
	if err != nil {
		t.Fatal(err)
	}
	r := result.(*Result)
	t.Run("EveryExpiredKeyGoesAndNoOther", func(t *testing.T) {
		claimed, failed, first := r.claims()
		if failed != 0 {
			t.Fatalf("%d claims failed, the first with %s", failed, first)
		}
		if want := (Keys{Expired: 0, Live: 700 + claimed, Unfinished: 1100}); r.Left != want {
			t.Errorf("%+v are left, want %+v", r.Left, want)
		}
		if swept := r.BesideAll.Deleted + r.Alone.Deleted; swept != 5000 {
			t.Errorf("%d were deleted, want 5000", swept)
		}
	})
	t.Run("SweepsStopAtTheirShareAndBatchesAreBounded", func(t *testing.T) {
		if len(r.Pairs) != 3 {
			t.Fatalf("%d pairs, want 3", len(r.Pairs))
		}
		for _, p := range r.Pairs { // a share is 833 keys; a statement may be on its way when it is reached
			if p.Sweep.Deleted < 1000 || p.Sweep.Deleted > 1200 || p.Sweep.LargestBatch != 200 ||
				p.Beside.Calls < 1 || p.Without.Calls < 1 {
				t.Errorf("%+v", p)
			}
		}
		if r.Alone.LargestBatch != 200 || r.Alone.Batches < r.Alone.Deleted/200 {
			t.Errorf("%+v", r.Alone)
		}
	})
	t.Run("TheTableIsLookedAtBeforeAndAfter", func(t *testing.T) {
		if len(r.States) != 4 {
			t.Fatalf("%+v", r.States)
		}
		for _, s := range r.States {
			if s.TableBytes <= 0 || s.IndexBytes <= 0 {
				t.Errorf("%+v", s)
			}
		}
		if last := r.States[3]; last.DeadTuples != 0 {
			t.Errorf("%d dead tuples after VACUUM", last.DeadTuples)
		}
	})
	t.Run("EveryFindingThatMustHoldHolds", func(t *testing.T) {
		s := r.Section()
		if failed := s.Failed(); len(failed) > 0 {
			t.Errorf("%+v", failed)
		}
		if err := s.Check(); err != nil || len(s.Findings) != 7 {
			t.Errorf("%v, %d findings", err, len(s.Findings))
		}
	})
}

func TestSizesThatMakeNoExperimentAreRefused(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		spoil func(*Sweep)
		says  string
	}{
		{func(x *Sweep) { x.Rows = 39_999 }, "--rows is 39999; it must be at least 40000"},
		{func(x *Sweep) { x.Beside = -1 }, "--beside is -1"},
		{func(x *Sweep) { x.Batch = 0 }, "--batch is 0"},
		{func(x *Sweep) { x.Batch, x.Rows = 100_001, 1<<30 }, "--batch is 100001; it must be at most 100000"},
		{func(x *Sweep) { x.Pairs = 0 }, "--pairs is 0"},
		{func(x *Sweep) { x.Rate = 0 }, "--rate is 0"},
	} {
		x := New()
		c.spoil(x)
		if err := x.Check(); err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("error %v, want %s", err, c.says)
		}
	}
}
