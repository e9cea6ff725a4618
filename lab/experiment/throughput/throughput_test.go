package throughput

import (
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/workbench"
)

func TestThroughput(t *testing.T) {
	x := &Throughput{Keys: 60, Workers: 12, Connections: 4, Trials: 2, Waves: 3, Delay: 10 * time.Millisecond}
	if err := x.Check(); err != nil {
		t.Fatal(err)
	}
	steps := map[string]int{}
	result, err := x.Run(t.Context(), &workbench.Bench{Steps: func(name string, n int) (func(), func()) {
		steps[name] = n
		return func() {}, func() {}
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := result.(*Result)
	t.Run("EveryDesignChargesEveryUniqueKeyOnce", func(t *testing.T) {
		if len(r.Rows) != 6 {
			t.Fatalf("%d designs, want 6", len(r.Rows))
		}
		for _, row := range r.Rows {
			if len(row.Trials) != 2 || row.RequestsPerSecond.Low <= 0 || row.TimesRedis == nil || row.TimesClaim == nil {
				t.Errorf("%+v", row)
			}
			for _, trial := range row.Trials {
				if trial.Requests != 60 || trial.Charges != 60 || trial.Charged != 60 || trial.Duplicates != 0 || trial.Failed != 0 {
					t.Errorf("%+v; want 60 charges", trial)
				}
			}
		}
	})
	t.Run("WaveOfOneKeyIsOneChargeAndOfDistinctKeysAsManyAsCallers", func(t *testing.T) {
		if len(r.Hot) != 4 {
			t.Fatalf("%d designs, want 4", len(r.Hot))
		}
		for _, h := range r.Hot {
			check := func(waves []experiment.Result, charges int) {
				if len(waves) != 3 {
					t.Errorf("%s: %d waves, want 3", h.Design, len(waves))
				}
				for _, w := range waves {
					answers := w.Charged + w.Replays + w.InFlight
					if answers != 12 || w.Charges != charges || w.Charged != charges || w.Contradicted != 0 {
						t.Errorf("%+v; want 12 answers and %d charges", w, charges)
					}
				}
			}
			check(h.OneKey.Waves, 1)
			check(h.DistinctKeys.Waves, 12)
		}
	})
	t.Run("CallerBesideAHotKeyIsTimed", func(t *testing.T) {
		if len(r.Crowds) != 4 {
			t.Fatalf("%d designs, want 4", len(r.Crowds))
		}
		for _, c := range r.Crowds {
			if c.AloneSeconds.Low < 0.01 || c.BesideSeconds.Low < 0.01 {
				t.Errorf("%+v; a charge takes 10 ms", c)
			}
		}
	})
	t.Run("EveryFindingThatMustHoldHolds", func(t *testing.T) {
		if failed := r.Section().Failed(); len(failed) > 0 {
			t.Errorf("%+v", failed)
		}
	})
	t.Run("ProgressIsToldInTurns", func(t *testing.T) {
		if steps["unique keys, turns"] != 6*3 || steps["one hot key, waves"] != 8*4 || steps["beside a hot key, turns"] != 8*4 {
			t.Errorf("%v", steps)
		}
	})
}

func TestSizesThatMakeNoExperimentAreRefused(t *testing.T) {
	if err := New().Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		spoil func(*Throughput)
		says  string
	}{
		{func(x *Throughput) { x.Keys = 0 }, "--keys is 0"},
		{func(x *Throughput) { x.Workers = 1 }, "--workers is 1"},
		{func(x *Throughput) { x.Connections = 0 }, "--connections is 0"},
		{func(x *Throughput) { x.Connections = 351 }, "--connections is 351"},
		{func(x *Throughput) { x.Trials = 0 }, "--trials is 0"},
		{func(x *Throughput) { x.Waves = 0 }, "--waves is 0"},
		{func(x *Throughput) { x.Delay = -1 }, "--delay is -1ns"},
	} {
		x := New()
		c.spoil(x)
		if err := x.Check(); err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("error %v, want %s", err, c.says)
		}
	}
}
