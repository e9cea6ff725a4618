package sweep

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
	"github.com/pgidem/pgidem/lab/trials"
)

// Section implements workbench.Result.
func (r *Result) Section() report.Section {
	return report.Section{
		Name:     "sweep",
		Title:    "Sweeping expired keys",
		Articles: "article 003",
		Lead:     r.lead(),
		Charts:   []chart.Chart{r.chart()},
		Tables:   []report.Table{r.passes(), r.claimTable(), r.states()},
		Findings: r.findings(),
	}
}

func (r *Result) lead() string {
	return fmt.Sprintf("%s expired keys as the product leaves them, each with an answer of 100 bytes, stand in a table beside %s that "+
		"have not expired and %s that nobody has finished. idem.Sweeper deletes the expired ones, %s at most in a statement, on "+
		"connections of its own: the first half in %d parts, while %d new keys a second are claimed and finished through Store.Hold, "+
		"each part paired with claims for as long without a sweep; then the second half alone. After that autovacuum is let finish, "+
		"and then VACUUM is run. The server has its defaults, except that autovacuum looks every second instead of every minute.",
		report.Number(r.Rows), report.Number(r.Beside), report.Number(r.Unfinished), report.Number(r.Batch), len(r.Pairs), r.Rate)
}

func (r *Result) passes() report.Table {
	t := report.Table{
		Title:   "The sweep",
		Columns: []string{"sweep", "keys/s", "deleted", "statements", "longest", "seconds"},
		Note:    "Longest: the statement that took longest, in milliseconds.",
	}
	for _, row := range []struct {
		name string
		pass Pass
	}{{"beside claims", r.BesideAll}, {"alone", r.Alone}} {
		p := row.pass
		t.Rows = append(t.Rows, report.Row{Tone: chart.Good, Cells: []string{
			row.name, report.Number(int(p.rate())), report.Number(int(p.Deleted)), report.Number(int(p.Batches)),
			fmt.Sprintf("%.0f", p.LongestBatch*1000), fmt.Sprintf("%.1f", p.Seconds),
		}})
	}
	return t
}

// halves are the claims beside a sweep and those without, a figure a pair, in milliseconds.
func (r *Result) halves(figure func(Claims) float64) (beside, without trials.Spread) {
	of := func(half func(Pair) Claims) trials.Spread {
		return trials.SpreadOf(trials.Figures(r.Pairs, func(p Pair) float64 { return figure(half(p)) * 1000 }))
	}
	return of(func(p Pair) Claims { return p.Beside }), of(func(p Pair) Claims { return p.Without })
}

func longest(c Claims) float64 { return c.LongestSeconds }

func (r *Result) claimTable() report.Table {
	t := report.Table{
		Title:   "Claims in milliseconds, beside a sweep and without one",
		Columns: []string{"of each half", "beside a sweep", "without", "ratio"},
		Note: fmt.Sprintf("Each figure is the median of %d pairs, with the least and the greatest. The ratio is taken pair by pair; its "+
			"interval is that of the pairs, from the least to the greatest.", len(r.Pairs)),
	}
	for _, row := range []struct {
		name   string
		figure func(Claims) float64
		ratio  string
	}{{"median", median, r.MedianRatio.Decimal()}, {"95 of 100 within", p95, r.P95Ratio.Decimal()}, {"longest", longest, "–"}} {
		beside, without := r.halves(row.figure)
		t.Rows = append(t.Rows, report.Row{Tone: chart.Good, Cells: []string{row.name, beside.Decimal(), without.Decimal(), row.ratio}})
	}
	return t
}

func (r *Result) states() report.Table {
	t := report.Table{
		Title:   "The table of keys",
		Columns: []string{"when", "live tuples", "dead tuples", "table", "indexes", "autovacuums"},
		Note: fmt.Sprintf("Tuples are as the server estimates them; autovacuums so far. VACUUM took %.1f s. It gives room back to the "+
			"table, not to the disk, where the last pages are not empty.", r.VacuumSeconds),
	}
	for _, s := range r.States {
		t.Rows = append(t.Rows, report.Row{Cells: []string{
			s.When, report.Number(int(s.LiveTuples)), report.Number(int(s.DeadTuples)), megabytes(s.TableBytes), megabytes(s.IndexBytes),
			report.Number(int(s.Autovacuums)),
		}})
	}
	return t
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (r *Result) chart() chart.Bars {
	bars := chart.Bars{Title: "Claims beside a sweep and without one", Unit: "milliseconds"}
	for _, row := range []struct {
		name   string
		figure func(Claims) float64
	}{{"median", median}, {"95 of 100 within", p95}} {
		beside, without := r.halves(row.figure)
		for _, half := range []struct {
			name string
			s    trials.Spread
		}{{"beside a sweep", beside}, {"without", without}} {
			bars.Bars = append(bars.Bars, chart.Bar{
				Label: row.name + ", " + half.name, Value: half.s.Median, Low: half.s.Low, High: half.s.High,
				Text: fmt.Sprintf("%.1f", half.s.Median), Tone: chart.Good,
			})
		}
	}
	return bars
}
