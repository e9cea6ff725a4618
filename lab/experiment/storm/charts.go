package storm

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

func (r *Result) duplicatesChart() chart.Bars {
	c := chart.Bars{
		Title: fmt.Sprintf("Duplicate charges among %s requests", report.Number(r.Keys*r.Copies)),
		Unit:  "duplicate charges",
	}
	for _, row := range r.Rows {
		bar := row.bar()
		if d := row.Duplicates; d != nil {
			bar.Value, bar.Low, bar.High = d.Median, d.Low, d.High
		}
		if r.isTheArticles() && row.Article != nil {
			bar.Article = float64(row.Article.Duplicates)
		}
		c.Bars = append(c.Bars, bar)
	}
	return c
}

func (r *Result) slowChart() chart.Lines {
	c := chart.Lines{
		Title: "Duplicate charges as the processor slows down",
		X:     "time that a charge takes, in milliseconds", Y: "duplicate charges", LogX: true,
	}
	for _, s := range r.Slow {
		line := chart.Line{Label: s.Design, Tone: chart.Good}
		for _, p := range s.Points {
			line.Points = append(line.Points, chart.Point{X: p.DelaySeconds * 1000, Y: p.Duplicates.Median})
			if p.Duplicates.High > 0 {
				line.Tone = chart.Bad
			}
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}

func (r *Result) speedChart() chart.Bars {
	c := chart.Bars{Title: "Requests a second in the storm", Unit: "requests a second"}
	for _, row := range r.Rows {
		bar := row.bar()
		bar.Value, bar.Low, bar.High = row.RequestsPerSecond.Median, row.RequestsPerSecond.Low, row.RequestsPerSecond.High
		if r.isTheArticles() && row.Article != nil {
			bar.Article = row.Article.RequestsPerSecond
		}
		c.Bars = append(c.Bars, bar)
	}
	return c
}

func (r Row) bar() chart.Bar {
	return chart.Bar{Label: r.Design, Text: r.Skipped, Tone: r.tone()}
}

// isTheArticles reports whether the storm is the article's, so that its figures may stand beside these.
func (r *Result) isTheArticles() bool {
	a := New()
	return r.Keys == a.Keys && r.Copies == a.Copies && r.Workers == a.Workers && r.DelaySeconds == a.Delay.Seconds()
}
