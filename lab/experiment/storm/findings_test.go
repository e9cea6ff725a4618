package storm

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/report"
)

// sound is what a storm of ten payments, five copies each, would measure if everything were as it is claimed.
func sound() *Result {
	trial := func(duplicates int, rate float64) experiment.Result {
		return experiment.Result{
			Requests: 50, Payments: 10, Charges: 10 + duplicates, Duplicates: duplicates,
			Charged: 10 + duplicates, Replays: 40 - duplicates, RequestsPerSecond: rate,
		}
	}
	row := func(design string, article *Article, rate float64, duplicates ...int) Row {
		row := Row{Design: design, Article: article}
		for i, d := range duplicates {
			row.Trials = append(row.Trials, trial(d, rate+float64(i)))
		}
		row.spread()
		return row
	}
	series := func(design string, duplicates ...int) Series {
		s := Series{Design: design}
		for i, d := range duplicates {
			results := []experiment.Result{trial(d, 1)}
			s.Points = append(s.Points, Point{float64(i+1) / 1000, spreadOf(results), results})
		}
		return s
	}
	return &Result{
		Keys: 10, Copies: 5, Workers: 4, Trials: 2, DelaySeconds: 0.02, DelayKeys: 10,
		Rows: []Row{
			row(none, &Article{4000, 3881}, 300, 40, 40),
			row(checkThenAct, &Article{216, 10255}, 900, 7, 9),
			row(claim, &Article{0, 6656}, 800, 0, 0),
			row(transaction, &Article{0, 3392}, 700, 0, 0),
			row(redisLock, &Article{0, 12637}, 1000, 0, 0),
			row("Store.Do", nil, 600, 0, 0),
			row("Store.Hold", nil, 500, 0, 0),
		},
		Slow: []Series{series(checkThenAct, 2, 5), series("Store.Do", 0, 0), series("Store.Hold", 0, 0)},
		Rehearsals: []Rehearsal{
			{unitTest, 1, experiment.Result{Requests: 1, Payments: 1, Charges: 1, Charged: 1}},
			{uniqueKeys, 4, experiment.Result{Requests: 10, Payments: 10, Charges: 10, Charged: 10}},
			{oneByOne, 1, trial(0, 1)},
		},
	}
}

func TestSoundResultHoldsInEverything(t *testing.T) {
	findings := sound().findings()
	if len(findings) != 14 {
		t.Errorf("%d findings, want 14", len(findings))
	}
	for _, f := range findings {
		if !f.Holds || f.Claim == "" || f.Measured == "" || f.Source == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestFindingsFailWithTheirFigures(t *testing.T) {
	const may, must = false, true
	for _, c := range []struct {
		name  string
		spoil func(*Result)
		claim string
		must  bool
		says  string
	}{
		{"a retry without a key is no charge", func(r *Result) { r.Rows[0].Trials[1].Duplicates = 39 },
			"Without a key every retry", must, "39 duplicates of 40 retries"},
		{"check-then-act charges once", func(r *Result) { r.Rows[1].Trials[0].Duplicates = 0 },
			"Check-then-act charges again", must, "too few copies have overlapped"},
		{"check-then-act counts the same", func(r *Result) { r.Rows[1].Trials[0].Duplicates = 9 },
			"A second run of check-then-act", may, "9 and 9 duplicates"},
		{"the claim is faster", func(r *Result) {
			r.Rows[2].Trials[0].RequestsPerSecond, r.Rows[2].Trials[1].RequestsPerSecond = 999, 999
		},
			"Check-then-act looks fast", may, "Postgres claim 999"},
		{"the claim charges twice", func(r *Result) { r.Rows[2].Trials[1].Duplicates = 1 },
			"A single atomic claim", must, "Postgres claim: duplicate charges: 1"},
		{"the transaction charges never", func(r *Result) { r.Rows[3].Trials[0].Missing = 2 },
			"A single atomic claim", must, "Postgres transaction: payments that were never charged: 2"},
		{"Redis does not answer", func(r *Result) {
			r.Rows[4].Trials[0].Failed, r.Rows[4].Trials[0].FirstFailure = 3, "out of order"
		}, "A single atomic claim", must, "Redis SET NX: requests without an answer: 3, the first with: out of order"},
		{"Redis lets two win", func(r *Result) { r.Rows[4].Trials[1].Charged = 11 },
			"The claim succeeds for exactly one", must, "Redis SET NX: 11 winners of 10 keys"},
		{"a loser gets nothing", func(r *Result) { r.Rows[2].Trials[0].Replays = 39 },
			"Who loses the claim polls", must, "79 replays and 0 409s"},
		{"a slow processor helps", func(r *Result) { r.Slow[0].Points[1].Trials[0].Duplicates = 1 },
			"Widen the window", may, "2 at 1ms and 1 at 2ms"},
		{"a unit test sees it", func(r *Result) { r.Rehearsals[0].Result.Duplicates = 1 },
			"A unit test", must, "1 duplicates; requests sent: 1"},
		{"a load test sees it", func(r *Result) { r.Rehearsals[1].Result.Duplicates = 1 },
			"A load test", must, "1 duplicates; requests sent: 10"},
		{"single file sees it", func(r *Result) { r.Rehearsals[2].Result.Duplicates = 1 },
			"The failure needs", must, "1 duplicates; requests sent: 50"},
		{"Do charges twice", func(r *Result) { r.Rows[5].Trials[0].Duplicates = 1 },
			"Store.Do charges every", must, "Store.Do: duplicate charges: 1"},
		{"Hold contradicts itself", func(r *Result) { r.Rows[6].Trials[0].Contradicted = 1 },
			"Store.Hold charges every", must, "Store.Hold: payments whose answers name more than one charge: 1"},
		{"Hold charges twice when it is slow", func(r *Result) { r.Slow[2].Points[1].Trials[0].Duplicates = 1 },
			"However slow", must, "Store.Hold: duplicate charges: 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sound()
			c.spoil(r)
			for i := range r.Rows {
				r.Rows[i].spread()
			}
			for i := range r.Slow {
				for j := range r.Slow[i].Points {
					r.Slow[i].Points[j].Duplicates = spreadOf(r.Slow[i].Points[j].Trials)
				}
			}
			var failed []report.Finding
			for _, f := range r.findings() {
				if !f.Holds {
					failed = append(failed, f)
				}
			}
			if len(failed) != 1 {
				t.Fatalf("%d findings fail: %+v; want one", len(failed), failed)
			}
			f := failed[0]
			if !strings.HasPrefix(f.Claim, c.claim) || f.Must != c.must || !strings.Contains(f.Measured, c.says) {
				t.Errorf("%+v; want %q (must: %v) to fail, and to say %q", f, c.claim, c.must, c.says)
			}
		})
	}
}
