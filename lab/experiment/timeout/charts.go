package timeout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

func (r *Result) nightChart() chart.Chart {
	bars := chart.Bars{
		Title: "The slow night: customers who paid more than once",
		Unit:  fmt.Sprintf("of %s customers", report.Number(r.Customers)),
	}
	for _, n := range r.Nights {
		bars.Bars = append(bars.Bars, chart.Bar{
			Label: n.Server + ", " + n.Client,
			Value: float64(n.PaidTwice),
			Text:  fmt.Sprintf("%s, %s charges", report.Number(n.PaidTwice), report.Number(n.Charges)),
			Tone:  toneOf(n.PaidTwice),
		})
	}
	return bars
}

func (w WaitRow) label() string {
	if w.Waits {
		return w.Design + ", duplicates wait"
	}
	return w.Design + ", 409 at once"
}

func (r *Result) workerChart() chart.Chart {
	bars := chart.Bars{
		Title: "Workers that duplicates of one slow payment hold",
		Unit:  fmt.Sprintf("of %d workers, %d duplicates", r.Workers, 2*r.Workers),
	}
	for _, w := range r.Waits {
		bars.Bars = append(bars.Bars, chart.Bar{Label: w.label(), Value: float64(w.Workers), Tone: toneOf(w.Workers)})
	}
	return bars
}

func (r *Result) servedChart() chart.Chart {
	lines := chart.Lines{
		Title: "Other customers served, while one payment is slow",
		X:     fmt.Sprintf("duplicates of the slow payment, at %d workers", r.Workers),
		Y:     "% of the others served in time",
	}
	for _, line := range []struct {
		waits bool
		label string
		tone  chart.Tone
	}{{true, "duplicates wait", chart.Bad}, {false, "409 at once", chart.Good}} {
		l := chart.Line{Label: line.label, Tone: line.tone}
		for _, w := range slices.Concat(r.Fewer, r.Waits) {
			if w.Design == handler && w.Waits == line.waits {
				l.Points = append(l.Points, chart.Point{X: float64(w.Duplicates), Y: percent(w.Served, w.Strangers)})
			}
		}
		lines.Lines = append(lines.Lines, inOrder(l))
	}
	return lines
}

func (r *Result) lateChart() chart.Chart {
	lines := chart.Lines{
		Title: "Phones that are charged again when they come back",
		X:     "hours after the payment",
		Y:     "% charged again",
	}
	for _, retention := range []int{stripeKeeps, weKeep} {
		l := chart.Line{Label: fmt.Sprintf("keys are kept for %d hours", retention)}
		for _, row := range r.Late {
			if row.RetentionHours == retention && row.MaxAgeHours == 0 {
				l.Points = append(l.Points, chart.Point{X: float64(row.AfterHours), Y: percent(row.Again, row.Payments)})
			}
		}
		lines.Lines = append(lines.Lines, inOrder(l))
	}
	return lines
}

func (r *Result) verdictChart() chart.Chart {
	bars := chart.Bars{
		Title: "Payments that a failure of the processor led astray",
		Unit:  fmt.Sprintf("of %s", report.Number(2*r.Payments)),
	}
	for _, v := range r.Verdicts {
		var text []string
		if v.ChargedAfterDecline > 0 {
			text = append(text, report.Number(v.ChargedAfterDecline)+" charged though declined")
		}
		if v.Stuck > 0 {
			text = append(text, report.Number(v.Stuck)+" stuck")
		}
		bars.Bars = append(bars.Bars, chart.Bar{
			Label: v.Design, Value: float64(v.wrong()), Text: strings.Join(text, ", "), Tone: toneOf(v.wrong()),
		})
	}
	return bars
}

// wrong are payments that ended as they should not.
func (v VerdictRow) wrong() int { return v.ChargedAfterDecline + v.Stuck }

func percent(part, of int) float64 { return 100 * float64(part) / float64(max(of, 1)) }

func inOrder(l chart.Line) chart.Line {
	slices.SortFunc(l.Points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
	return l
}
