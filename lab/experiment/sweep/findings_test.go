package sweep

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/trials"
)

// sound is a sweep of a thousand keys that went as it should.
func sound() *Result {
	r := &Result{
		Rows: 1000, Beside: 50, Unfinished: 11, Batch: 100, Rate: 10,
		FindSeconds: trials.SpreadOf([]float64{0.001}),
		Warmup:      Claims{Calls: 4, MedianSeconds: 0.001, P95Seconds: 0.002},
		BesideAll:   Pass{Deleted: 500, Batches: 5, LargestBatch: 100, Seconds: 0.05, LongestBatch: 0.02},
		Alone:       Pass{Deleted: 500, Batches: 6, LargestBatch: 100, Seconds: 0.02, LongestBatch: 0.01},
		Left:        Keys{Live: 50 + 4 + 20, Unfinished: 11},
		States: []State{{
			When: "swept", LiveTuples: 85, DeadTuples: 1000, TableBytes: 1_500_000, IndexBytes: 200_000, Autovacuums: 1,
		}},
	}
	for range 2 {
		r.Pairs = append(r.Pairs, Pair{
			Beside:  Claims{Calls: 5, MedianSeconds: 0.003, P95Seconds: 0.006, LongestSeconds: 0.007},
			Without: Claims{Calls: 5, MedianSeconds: 0.002, P95Seconds: 0.003, LongestSeconds: 0.004},
		})
	}
	r.compare()
	return r
}

func TestSoundResultHoldsInEverything(t *testing.T) {
	for _, f := range sound().findings() {
		if !f.Holds || f.Claim == "" || f.Measured == "" || f.Source != "pgidem" {
			t.Errorf("%+v", f)
		}
	}
}

func TestFindingsFailWithTheirFigures(t *testing.T) {
	const may, must = false, true
	for _, c := range []struct {
		name  string
		spoil func(*Result)
		must  bool
		claim string // its beginning
		says  string
	}{
		{"an expired key is left", func(r *Result) { r.Left.Expired = 1 }, must,
			"A sweep deletes every", "1,000 of 1,000 deleted, 1 left"},
		{"a key went otherwise", func(r *Result) { r.Alone.Deleted = 499 }, must, "A sweep deletes every", "999 of 1,000"},
		{"a live key is gone", func(r *Result) { r.Left.Live-- }, must, "A sweep deletes no key", "73 of 74 live ones"},
		{"a live key too many", func(r *Result) { r.Left.Live++ }, must, "A sweep deletes no key", "75 of 74 live ones"},
		{"an unfinished key is gone", func(r *Result) { r.Left.Unfinished-- }, must,
			"A sweep deletes no key", "10 of 11 unfinished"},
		{"a claim fails", func(r *Result) { c := &r.Pairs[1].Beside; c.Failed, c.FirstFailure = 1, "lost"; r.Left.Live-- }, must,
			"No claim fails", "1 of 24 claims failed, the first with lost"},
		{"a batch is large", func(r *Result) { r.BesideAll.LargestBatch = 101 }, must,
			"No statement of a sweep", "101 at most, in 11"},
		{"it is slow", func(r *Result) { r.Alone.Seconds = 0.03 }, may,
			"A sweep deletes at least 20,000", "16,666 a second alone"},
		{"claims wait", func(r *Result) { r.Pairs[0].Beside.P95Seconds, r.Pairs[1].Beside.P95Seconds = 0.03, 0.03 }, may,
			"Claims do not wait", "30.00 ms, a statement 10 ms"},
		{"abandoned keys are searched for", func(r *Result) { r.FindSeconds = trials.SpreadOf([]float64{0.005}) }, may,
			"Abandoned keys", "5.00 ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sound()
			c.spoil(r)
			var failed []report.Finding
			for _, f := range r.findings() {
				if !f.Holds {
					failed = append(failed, f)
				}
			}
			if len(failed) != 1 {
				t.Fatalf("%d findings fail: %+v; want one", len(failed), failed)
			}
			if f := failed[0]; !strings.HasPrefix(f.Claim, c.claim) || !strings.Contains(f.Measured, c.says) || f.Must != c.must {
				t.Errorf("%+v; want %q, %q (must: %v)", f, c.claim, c.says, c.must)
			}
		})
	}
}

func TestSectionSaysHowFastAndAtWhatCost(t *testing.T) {
	s := sound().Section()
	if err := s.Check(); err != nil || s.Name != "sweep" || len(s.Tables) != 3 {
		t.Fatalf("%v %+v", err, s)
	}
	for i, want := range []string{
		"alone|25,000|500|6|10|0.0",
		"median|3.00|2.00|1.50",
		"swept|85|1,000|1.5 MB|0.2 MB|1",
	} {
		var rows []string
		for _, r := range s.Tables[i].Rows {
			rows = append(rows, strings.Join(r.Cells, "|"))
		}
		if got := strings.Join(rows, "\n"); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
