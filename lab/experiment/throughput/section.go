package throughput

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section implements workbench.Result.
func (r *Result) Section() report.Section {
	s := report.Section{
		Name:     "throughput",
		Title:    "PostgreSQL or Redis",
		Articles: article,
		Lead:     r.lead(),
		Charts:   []chart.Chart{r.speedChart(), r.hotChart()},
		Tables:   []report.Table{r.speedTable(), r.hotTable()},
		Findings: r.findings(),
	}
	for _, row := range r.Rows {
		if row.Skipped != "" {
			s.Skipped = append(s.Skipped, row.Design+": "+row.Skipped)
		}
	}
	return s
}

func (r *Result) lead() string {
	return fmt.Sprintf("%s payments, each under a key of its own and sent once, go through every design from %d workers, with no "+
		"delay in a charge: %d trials by turns, after one that does not count. Every design has a pool of %d connections to "+
		"PostgreSQL, and as many to Redis, which saves nothing to disk (save ''). Article 003 does not say how many it had. The "+
		"charge is a row in PostgreSQL in all of them, and the database flushes every commit: Redis waits for one (the charge), the "+
		"transaction and Store.Do for one, the claim and Store.Hold for three (the key, the charge, the mark).\n\n"+
		"Then what the article leaves out: waves of %d callers at once who all come with one new key, beside waves in which each "+
		"comes with its own, %d of each; and how long a caller of another key waits who comes right after such a crowd, when a "+
		"charge takes %s.",
		report.Number(r.Keys), r.Workers, r.Trials, r.Connections, r.Workers, r.Waves, report.Duration(r.DelaySeconds))
}

func (r *Result) speedTable() report.Table {
	t := report.Table{
		Title:   fmt.Sprintf("%s unique keys from %d workers over %d connections", report.Number(r.Keys), r.Workers, r.Connections),
		Columns: []string{"design", "requests/s", "article 003", "times Redis", "times the claim"},
		Note: "The median of the trials, with the least and the greatest. Ratios are taken trial by trial: what slowed the machine " +
			"for a while does not show in them.",
	}
	for _, row := range r.Rows {
		cells := []string{row.Design, row.Skipped, "–", "–", "–"}
		if row.Skipped == "" {
			cells[1] = row.RequestsPerSecond.Whole()
		}
		if row.Article > 0 {
			cells[2] = report.Number(int(row.Article))
		}
		if row.TimesRedis != nil {
			cells[3] = row.TimesRedis.Decimal()
		}
		if row.TimesClaim != nil {
			cells[4] = row.TimesClaim.Decimal()
		}
		t.Rows = append(t.Rows, report.Row{Cells: cells, Tone: row.tone()})
	}
	return t
}

// tone marks the product's rows; speed is neither good nor bad.
func (r Row) tone() chart.Tone {
	switch {
	case r.Skipped != "":
		return chart.Skipped
	case r.Ours:
		return chart.Good
	}
	return chart.Plain
}

func (r *Result) hotTable() report.Table {
	t := report.Table{
		Title: fmt.Sprintf("%d callers at once, in milliseconds", r.Workers),
		Columns: []string{
			"design", "all with one key", "each with its own", "one key takes", "a caller behind a crowd", "by itself",
		},
		Note: "The first two: until all callers of a wave have their answer, and how the one compares with the other. The last two: " +
			"how long one caller of another key waits, behind the crowd and without one. Medians, with the least and the greatest.",
	}
	for _, h := range r.Hot {
		c := r.crowd(h.Design)
		row := report.Row{Cells: []string{
			h.Design, milliseconds(h.OneKey.Seconds).Whole(), milliseconds(h.DistinctKeys.Seconds).Whole(), "× " + h.Ratio.Decimal(),
			milliseconds(c.BesideSeconds).Whole(), milliseconds(c.AloneSeconds).Whole(),
		}}
		if h.Design == do || h.Design == hold {
			row.Tone = chart.Good
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *Result) speedChart() chart.Bars {
	c := chart.Bars{Title: "Unique keys, no delay", Unit: "requests a second"}
	for _, row := range r.Rows {
		bar := chart.Bar{Label: row.Design, Text: row.Skipped, Tone: row.tone()}
		bar.Value, bar.Low, bar.High = row.RequestsPerSecond.Median, row.RequestsPerSecond.Low, row.RequestsPerSecond.High
		if r.isTheArticles() {
			bar.Article = row.Article
		}
		c.Bars = append(c.Bars, bar)
	}
	return c
}

// isTheArticles reports whether the load is the article's, so that its figures may stand beside these.
func (r *Result) isTheArticles() bool {
	a := New()
	return r.Keys == a.Keys && r.Workers == a.Workers
}

func (r *Result) hotChart() chart.Bars {
	c := chart.Bars{
		Title: fmt.Sprintf("Until %d callers have their answer: all with one key, or each with its own", r.Workers),
		Unit:  "milliseconds",
	}
	for _, h := range r.Hot {
		for _, w := range []struct {
			label string
			waves Waves
		}{{"one key", h.OneKey}, {"keys of their own", h.DistinctKeys}} {
			s := milliseconds(w.waves.Seconds)
			bar := chart.Bar{Label: h.Design + ", " + w.label, Value: s.Median, Low: s.Low, High: s.High}
			if h.Design == do || h.Design == hold {
				bar.Tone = chart.Good
			}
			c.Bars = append(c.Bars, bar)
		}
	}
	return c
}
