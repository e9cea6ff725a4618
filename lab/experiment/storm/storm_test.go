package storm

import (
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/workbench"
)

// small is dense enough that copies overlap on any machine.
func small() *Storm {
	return &Storm{
		Keys: 10, Copies: 8, Workers: 20, Delay: 50 * time.Millisecond, Trials: 2,
		Delays: []time.Duration{20 * time.Millisecond, 60 * time.Millisecond}, DelayKeys: 5,
	}
}

func run(t *testing.T, s *Storm, b *workbench.Bench) *Result {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*Result)
}

func TestStorm(t *testing.T) {
	steps := map[string]int{}
	r := run(t, small(), &workbench.Bench{Steps: func(name string, n int) (func(), func()) {
		steps[name] = n
		return func() {}, func() {}
	}})
	if len(r.Rows) != 7 {
		t.Fatalf("%d designs, want the article's five and the product's two", len(r.Rows))
	}
	each := func(t *testing.T, designs []string, check func(*testing.T, experiment.Result)) {
		for _, d := range designs {
			row := r.row(d)
			if len(row.Trials) != 2 {
				t.Errorf("%s: %d trials, want 2", d, len(row.Trials))
			}
			for _, trial := range row.Trials {
				if trial.Requests != 80 || trial.Payments != 10 || trial.Failed != 0 {
					t.Errorf("%s: %d requests for %d payments, %d failed (%s); want 80, 10, 0",
						d, trial.Requests, trial.Payments, trial.Failed, trial.FirstFailure)
				}
				check(t, trial)
			}
		}
	}
	t.Run("WithoutAKeyEveryRetryIsACharge", func(t *testing.T) {
		each(t, []string{none}, func(t *testing.T, trial experiment.Result) {
			if trial.Charges != 80 || trial.Duplicates != 70 {
				t.Errorf("%d charges, %d duplicates; want 80, 70", trial.Charges, trial.Duplicates)
			}
		})
	})
	t.Run("CheckThenActChargesAgain", func(t *testing.T) {
		each(t, []string{checkThenAct}, func(t *testing.T, trial experiment.Result) {
			if trial.Duplicates == 0 || trial.Charges != 10+trial.Duplicates {
				t.Errorf("%d charges, %d duplicates; want some", trial.Charges, trial.Duplicates)
			}
		})
	})
	t.Run("AtomicClaimChargesOnce", func(t *testing.T) {
		each(t, []string{claim, transaction, redisLock}, once)
	})
	t.Run("ProductChargesOnce", func(t *testing.T) {
		if len(r.ours()) != 2 {
			t.Errorf("%d designs of the product's, want Do and Hold", len(r.ours()))
		}
		each(t, []string{"Store.Do", "Store.Hold"}, once)
	})
	t.Run("NeitherSlowProcessor", func(t *testing.T) {
		if len(r.Slow) != 3 {
			t.Fatalf("%d series, want 3", len(r.Slow))
		}
		for _, s := range r.Slow {
			if len(s.Points) != 2 || s.Points[0].DelaySeconds != 0.02 || s.Points[1].DelaySeconds != 0.06 {
				t.Fatalf("%s: %+v; want a point at 20 ms and one at 60 ms", s.Design, s.Points)
			}
			for _, p := range s.Points {
				for _, trial := range p.Trials {
					if (trial.Duplicates > 0) != (s.Design == checkThenAct) || trial.Requests != 40 || trial.Charges != 5+trial.Duplicates {
						t.Errorf("%s: %+v", s.Design, trial)
					}
				}
			}
		}
	})
	t.Run("TestsWithoutOverlapCatchNothing", func(t *testing.T) {
		want := map[string]int{unitTest: 1, uniqueKeys: 10, oneByOne: 80}
		if len(r.Rehearsals) != len(want) {
			t.Errorf("%d rehearsals, want %d", len(r.Rehearsals), len(want))
		}
		for _, one := range r.Rehearsals {
			if one.Result.Requests != want[one.Test] || one.Result.Duplicates != 0 || one.Result.Charges != one.Result.Payments {
				t.Errorf("%s: %+v", one.Test, one.Result)
			}
		}
	})
	t.Run("EveryFindingThatMustHoldHolds", func(t *testing.T) {
		if failed := r.Section().Failed(); len(failed) > 0 {
			t.Errorf("%+v", failed)
		}
	})
	t.Run("ProgressIsToldInRequests", func(t *testing.T) {
		if steps["storm"] != 7*2*80 || steps["slower and slower charges"] != 6*2*40 || steps["what tests send"] != 91 {
			t.Errorf("%v", steps)
		}
	})
}

// once is a trial in which nobody paid twice and everybody was answered.
func once(t *testing.T, trial experiment.Result) {
	if trial.Charges != 10 || trial.Charged != 10 || trial.Duplicates != 0 || trial.Missing != 0 || trial.Contradicted != 0 {
		t.Errorf("%s: %+v; want 10 charges", trial.Design, trial)
	}
	if trial.Replays+trial.InFlight != 70 {
		t.Errorf("%s: %d replays and %d 409s for 70 retries", trial.Design, trial.Replays, trial.InFlight)
	}
}

func TestSizesThatMakeNoExperimentAreRefused(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		spoil func(*Storm)
		says  string
	}{
		{func(s *Storm) { s.Keys = 0 }, "--keys is 0"},
		{func(s *Storm) { s.Copies = 1 }, "--copies is 1"},
		{func(s *Storm) { s.Workers = 1 }, "--workers is 1"},
		{func(s *Storm) { s.Workers = 351 }, "--workers is 351"},
		{func(s *Storm) { s.Delay = -1 }, "--delay is -1ns"},
		{func(s *Storm) { s.Trials = 1 }, "--trials is 1"},
		{func(s *Storm) { s.DelayKeys = 0 }, "--delay-keys is 0"},
		{func(s *Storm) { s.Delays = s.Delays[:1] }, "--delays are 1"},
		{func(s *Storm) { s.Delays = []time.Duration{0, 1} }, "--delays has 0s"},
		{func(s *Storm) { s.Delays = []time.Duration{2, 2} }, "--delays has 2ns"},
	} {
		s := New()
		c.spoil(s)
		if err := s.Check(); err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("error %v, want %s", err, c.says)
		}
	}
}
