package storm

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

func (r *Result) table() report.Table {
	t := report.Table{
		Title: fmt.Sprintf("%s requests that should make %s charges", report.Number(r.Keys*r.Copies), report.Number(r.Keys)),
		Columns: []string{
			"design", "duplicate charges", "article 003", "requests/s", "article 003", "409s",
		},
		Note: fmt.Sprintf("The median of %d trials, with the least and the greatest. 409s are counted in all of them.", r.Trials),
	}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, report.Row{Cells: row.cells(), Tone: row.tone()})
	}
	return t
}

func (r Row) cells() []string {
	cells := []string{r.Design, r.Skipped, "", "", "", ""}
	if r.Skipped == "" {
		gaveUp := 0
		for _, t := range r.Trials {
			gaveUp += t.InFlight
		}
		cells = []string{r.Design, r.Duplicates.Whole(), "–", r.RequestsPerSecond.Whole(), "–", report.Number(gaveUp)}
	}
	if r.Article != nil {
		cells[2], cells[4] = report.Number(r.Article.Duplicates), report.Number(int(r.Article.RequestsPerSecond))
	}
	return cells
}

func (r *Result) slowTable() report.Table {
	t := report.Table{
		Title: fmt.Sprintf("Duplicate charges as the processor slows down, %s payments, each sent %d times from %d workers",
			report.Number(r.DelayKeys), r.Copies, r.Workers),
		Columns: []string{"a charge takes"},
		Note:    fmt.Sprintf("No more copies can overlap than there are workers, %d: that bounds it.", r.Workers),
	}
	for i, s := range r.Slow {
		t.Columns = append(t.Columns, s.Design)
		for j, p := range s.Points {
			if i == 0 {
				t.Rows = append(t.Rows, report.Row{Cells: []string{report.Duration(p.DelaySeconds).String()}})
			}
			t.Rows[j].Cells = append(t.Rows[j].Cells, p.Duplicates.Whole())
		}
	}
	return t
}

func (r *Result) rehearsalTable() report.Table {
	t := report.Table{
		Title:   "What tests of check-then-act see before customers do",
		Columns: []string{"test", "payments", "requests", "at once", "duplicate charges"},
	}
	for _, one := range r.Rehearsals {
		t.Rows = append(t.Rows, report.Row{Cells: []string{
			one.Test, report.Number(one.Result.Payments), report.Number(one.Result.Requests), report.Number(one.Workers),
			report.Number(one.Result.Duplicates),
		}})
	}
	if row := r.row(checkThenAct); len(row.Trials) > 0 {
		t.Rows = append(t.Rows, report.Row{Tone: chart.Bad, Cells: []string{
			"the storm", report.Number(r.Keys), report.Number(r.Keys * r.Copies), report.Number(r.Workers), row.Duplicates.Whole(),
		}})
	}
	return t
}
