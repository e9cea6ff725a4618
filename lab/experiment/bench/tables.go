package bench

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// countTable shows counts; with memory where one caller made them, since those who wait allocate too.
func countTable(title string, counts []Count, memory bool) report.Table {
	t := report.Table{
		Title:   title,
		Columns: []string{"arm", "round trips", "messages", "commits", "xids", "WAL bytes", "HOT"},
		Note: "Messages are those to the servers. WAL is without full-page images. HOT: the share of updates that touched no index. " +
			"What an arm does in the background is counted with it.",
	}
	if memory {
		t.Columns = append(t.Columns, "allocations", "bytes allocated")
	}
	for _, c := range counts {
		row := report.Row{Cells: []string{
			c.Name, decimal(c.RoundTrips), decimal(c.Messages), decimal(c.Commits), decimal(c.TransactionIDs), whole(c.WALBytes), c.hot(),
		}}
		if memory {
			row.Cells = append(row.Cells, whole(c.Allocations), whole(c.AllocatedBytes))
		}
		if c.Ours {
			row.Tone = chart.Good
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (c Count) hot() string {
	if c.Updates == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(c.HOTUpdates)/float64(c.Updates))
}

func decimal(f float64) string { return fmt.Sprintf("%.2f", f) }

// whole writes f, which is not much below 0, as a whole number.
func whole(f float64) string { return report.Number(int(max(f, 0) + 0.5)) }

// delayTable shows the p50 of each arm under each delay.
func (r *Result) delayTable() report.Table {
	t := report.Table{
		Title:   "p50 of a call in milliseconds, one caller, by the delay that every round trip is given",
		Columns: []string{"arm"},
		Note: fmt.Sprintf("%d calls of each arm under each delay, by turns. The delay is added by a proxy on the way to PostgreSQL and to "+
			"Redis.", r.Calls),
	}
	for _, c := range r.Delays[0].Calls {
		t.Columns = append(t.Columns, milliseconds(c.DelaySeconds)+" ms")
	}
	for _, d := range r.Delays {
		row := report.Row{Cells: []string{d.Name}}
		if d.Ours {
			row.Tone = chart.Good
		}
		for _, c := range d.Calls {
			row.Cells = append(row.Cells, fmt.Sprintf("%.1f", c.Seconds.Median*1000))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// drawn are the arms whose calls are drawn over the delays.
var drawn = map[string]bool{bare: true, redisClaim: true, claim: true, transaction: true, hold: true, do: true, batch: true}

// delayChart draws some arms; false: none of them ran.
func (r *Result) delayChart() (chart.Lines, bool) {
	lines := chart.Lines{
		Title: "A call where the servers are far away", X: "delay of a round trip, milliseconds", Y: "p50 of a call, milliseconds",
	}
	for _, d := range r.Delays {
		if !drawn[d.Arm] {
			continue
		}
		line := chart.Line{Label: d.Name}
		for _, c := range d.Calls {
			line.Points = append(line.Points, chart.Point{X: c.DelaySeconds * 1000, Y: c.Seconds.Median * 1000})
		}
		lines.Lines = append(lines.Lines, line)
	}
	return lines, len(lines.Lines) > 0
}
