package throughput

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/trials"
)

// sound is what ten keys would measure on a machine on which everything is as it is claimed.
func sound() *Result {
	row := func(design string, article float64, rates ...float64) Row {
		row := Row{Design: design, Article: article, Ours: design == do || design == hold}
		for _, rate := range rates {
			trial := experiment.Result{Requests: 10, Payments: 10, Charges: 10, Charged: 10, RequestsPerSecond: rate}
			row.Trials = append(row.Trials, trial)
		}
		return row
	}
	waves := func(design string, one, distinct float64) Hot {
		return hotOf(design,
			[]experiment.Result{{Requests: 8, Payments: 1, Charges: 1, Charged: 1, Replays: 7, Seconds: one}},
			[]experiment.Result{{Requests: 8, Payments: 8, Charges: 8, Charged: 8, Seconds: distinct}})
	}
	crowd := func(design string, beside, alone float64) Crowd {
		return Crowd{design, trials.SpreadOf([]float64{beside}), trials.SpreadOf([]float64{alone})}
	}
	r := &Result{
		Keys: 10, Workers: 8, Connections: 4, Trials: 2, Waves: 1, DelaySeconds: 0.02,
		Rows: []Row{
			row(none, 0, 9000, 9900), row(redisLock, 8837, 7500, 8400), row(claim, 2993, 2500, 2800),
			row(transaction, 2644, 2400, 2600), row(do, 0, 3000, 3200), row(hold, 0, 2600, 3000),
		},
		Hot: []Hot{waves(claim, 0.03, 0.02), waves(transaction, 0.01, 0.02), waves(do, 0.005, 0.02), waves(hold, 0.01, 0.04)},
		Crowds: []Crowd{
			crowd(claim, 0.03, 0.02), crowd(transaction, 0.05, 0.02), crowd(do, 0.02, 0.02), crowd(hold, 0.02, 0.02),
		},
	}
	compare(r.Rows)
	return r
}

func TestSoundResultHoldsInEverything(t *testing.T) {
	findings := sound().findings()
	if len(findings) != 13 {
		t.Errorf("%d findings, want 13", len(findings))
	}
	for _, f := range findings {
		if !f.Holds || f.Claim == "" || f.Measured == "" || f.Source == "" {
			t.Errorf("%+v", f)
		}
	}
}

// speed makes a design's trials as fast as that.
func speed(r *Result, design string, rate float64) {
	for i := range r.Rows {
		if r.Rows[i].Design == design {
			for j := range r.Rows[i].Trials {
				r.Rows[i].Trials[j].RequestsPerSecond = rate
			}
		}
	}
	compare(r.Rows)
}

func TestFindingsFailWithTheirFigures(t *testing.T) {
	const may, must = false, true
	for _, c := range []struct {
		name  string
		spoil func(*Result)
		must  bool
		fail  []string // beginnings of claims
		says  string   // the first of them
	}{
		{"Redis is slow", func(r *Result) { speed(r, redisLock, 2450) }, may,
			[]string{"Redis is the fastest", "Redis is about three", "The charge still goes"},
			"Redis SET NX 2,450, Postgres claim 2,650 (2,500–2,800) and Postgres transaction 2,500 (2,400–2,600)"},
		{"Redis is twice as fast", func(r *Result) { speed(r, redisLock, 5300) }, may,
			[]string{"Redis is about three"}, "2.01 (1.89–2.12) times"},
		{"a key costs nothing", func(r *Result) { speed(r, none, 7000) }, may,
			[]string{"The charge still goes"}, "no key 7,000"},
		{"the transaction is faster", func(r *Result) { speed(r, transaction, 2900) }, may,
			[]string{"The claim is somewhat"}, "transaction 2,900"},
		{"PostgreSQL is slow", func(r *Result) { speed(r, transaction, 1999) }, may,
			[]string{"A correct design in PostgreSQL"}, "transaction 1,999"},
		{"Do is slower", func(r *Result) { speed(r, do, 2400) }, may,
			[]string{"Store.Do is no slower"}, "0.96 (0.92–1.00) times Postgres transaction"},
		{"Hold is slower", func(r *Result) { speed(r, hold, 2000) }, may,
			[]string{"Store.Hold is no slower"}, "0.76 (0.71–0.80) times Postgres claim"},
		{"a unique key is charged twice", func(r *Result) { r.Rows[0].Trials[1].Charges, r.Rows[0].Trials[1].Duplicates = 11, 1 }, must,
			[]string{"A load with unique keys"}, "no key: 11 charges and 10 who charged for 10 keys"},
		{"a request fails", func(r *Result) { r.Rows[5].Trials[0].Failed, r.Rows[5].Trials[0].FirstFailure = 2, "out of order" }, must,
			[]string{"A load with unique keys"}, "Store.Hold: 10 charges and 10 who charged for 10 keys, 0 answers that contradict " +
				"others, 2 requests without an answer, the first with out of order"},
		{"two callers win the claim", func(r *Result) { r.Hot[0].OneKey.Waves[0].Charged = 2 }, must,
			[]string{"An atomic claim succeeds"}, "Postgres claim: 1 charges and 2 who charged for 1 keys"},
		{"two callers charge through the product", func(r *Result) { r.Hot[3].OneKey.Waves[0].Charges = 2 }, must,
			[]string{"However many come"}, "Store.Hold: 2 charges and 1 who charged"},
		{"an answer is not the winner's", func(r *Result) { r.Hot[2].OneKey.Waves[0].Contradicted = 1 }, must,
			[]string{"However many come"}, "1 answers that contradict"},
		{"nobody queues", func(r *Result) { r.Crowds[1].BesideSeconds.Median = 0.02 }, may,
			[]string{"On one hot key", "A hot key keeps nobody"}, "by itself 20 ms"},
		{"a hot key is dear", func(r *Result) { r.Hot[2].Ratio = trials.SpreadOf([]float64{1.25}) }, may,
			[]string{"A wave of callers"}, "1.25 times as long with Store.Do"},
		{"Hold keeps others waiting", func(r *Result) { r.Crowds[3].BesideSeconds.Median = 0.06 }, may,
			[]string{"A hot key keeps nobody"}, "50 ms with Postgres transaction"},
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
			if len(failed) != len(c.fail) {
				t.Fatalf("%d findings fail: %+v; want %q", len(failed), failed, c.fail)
			}
			for i, f := range failed {
				if !strings.HasPrefix(f.Claim, c.fail[i]) || f.Must != c.must {
					t.Errorf("%+v; want %q (must: %v)", f, c.fail[i], c.must)
				}
			}
			if !strings.Contains(failed[0].Measured, c.says) {
				t.Errorf("it says %q, want %q", failed[0].Measured, c.says)
			}
		})
	}
}
