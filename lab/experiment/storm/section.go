package storm

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section implements workbench.Result.
func (r *Result) Section() report.Section {
	s := report.Section{
		Name:     "storm",
		Title:    "A storm of retries",
		Articles: article,
		Lead:     r.lead(),
		Charts:   []chart.Chart{r.duplicatesChart(), r.slowChart(), r.speedChart()},
		Tables:   []report.Table{r.table(), r.slowTable(), r.rehearsalTable()},
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
	return fmt.Sprintf("%s payments, each sent %d times in shuffled order from %d workers at once, go through every design, %d "+
		"times by turns. A payment is a row, written after %s, which is time for its retries to overlap. A worker sends its next request "+
		"when the last is answered. Every design has a pool of %d connections, one for each worker, to PostgreSQL, and as many to "+
		"Redis. Article 003 does not say how many it had.\n\n"+
		"A client that never saw its answer sends the payment again, and what it sends is the same; so there should be %s charges. "+
		"Who finds the key taken waits up to five seconds for the answer: the claim and Redis ask again every 25 ms, as in the "+
		"article; a transaction waits at the unique index; pgidem's callers wait in memory for the first of them.",
		report.Number(r.Keys), r.Copies, r.Workers, r.Trials, report.Duration(r.DelaySeconds), r.Workers, report.Number(r.Keys))
}

// tone says whether money was lost, or a promise kept.
func (r Row) tone() chart.Tone {
	switch {
	case r.Skipped != "":
		return chart.Skipped
	case r.Duplicates.High > 0:
		return chart.Bad
	}
	return chart.Good
}
