package keys

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
	"github.com/pgidem/pgidem/lab/trials"
)

// Section implements workbench.Result.
func (r *Result) Section() report.Section {
	s := report.Section{
		Name:     "keys",
		Title:    "UUIDv4 or UUIDv7 keys",
		Articles: "article 003",
		Lead:     r.lead(),
		Charts:   r.charts(),
		Findings: r.findings(),
	}
	for _, t := range r.Tables {
		s.Tables = append(s.Tables, t.table())
	}
	s.Tables[len(s.Tables)-1].Note = r.conditions()
	s.Tables = append(s.Tables, r.paid())
	return s
}

func (r *Result) lead() string {
	return fmt.Sprintf("Any UUID that the client makes once is a good idempotency key. UUIDv4 keys are random, so each goes to "+
		"some page of the index; UUIDv7 keys begin with the time, so that those of one moment stand on one page. It matters once "+
		"the index no longer fits into memory.\n\n%s keys of either kind go into a primary key: of article 003's table, then of "+
		"idem.keys, with rows as Store.Do leaves them. They are inserted by SQL, %s in a transaction, the two kinds by turns and "+
		"each on a server of its own, whose shared_buffers of %s the index outgrows more than %d times. At last %s payments of "+
		"either kind go through Store.Do into the table that is now so large, each sent twice at about the same time, from %d "+
		"workers.",
		report.Number(r.Rows), report.Number(r.RowsPerInsert), megabytes(r.SharedBuffersBytes), timesLarger,
		report.Number(r.Payments[0].Payments), payers)
}

// conditions are what the figures depend on.
func (r *Result) conditions() string {
	return fmt.Sprintf("Both servers make a checkpoint after each %s rows and no other, outside the time measured, and have "+
		"autovacuum off. Full pages are those that are logged whole, because they are written for the first time after a "+
		"checkpoint; reads are of pages that are not in shared_buffers; both for 1,000 rows. What is read comes from the operating "+
		"system's cache here. Where it comes from a disk, UUIDv4 keys lose more: the article that 003 refers to names %d times for "+
		"%s. The UUIDv7 keys were made by one process, so that they came in perfect order.",
		report.Number(r.RowsPerCheckpoint), articleTimes, articleRows)
}

func (t Table) table() report.Table {
	table := report.Table{
		Title:   "Filling " + t.Name,
		Columns: []string{"keys", "rows/s", "index", "WAL/row", "full pages/1,000", "reads/1,000", "seconds"},
	}
	for _, k := range t.Kinds {
		table.Rows = append(table.Rows, report.Row{Cells: []string{
			k.Name, report.Number(int(float64(k.Rows) / k.Seconds)), megabytes(k.IndexBytes), fmt.Sprintf("%.0f B", k.perRow(k.WALBytes)),
			short(k.perThousand(k.FullPageImages)), short(k.perThousand(k.BlocksRead)), fmt.Sprintf("%.1f", k.Seconds),
		}})
	}
	return table
}

func (r *Result) paid() report.Table {
	table := report.Table{
		Title:   fmt.Sprintf("Payments through Store.Do, beside %s keys that are there already", report.Number(r.Rows)),
		Columns: []string{"keys", "payments", "requests", "charges", "duplicates", "replays", "requests/s", "lowest", "highest"},
		Note:    fmt.Sprintf("Requests a second are the median of %d rounds; each kind's rounds stand beside the other's.", rounds),
	}
	for _, p := range r.Payments {
		rate := trials.SpreadOf(p.PerSecond)
		row := report.Row{Tone: chart.Good, Cells: []string{
			p.Kind, report.Number(p.Payments), report.Number(2 * p.Payments), report.Number(p.Charges), report.Number(p.Duplicates),
			report.Number(p.Replays), report.Number(int(rate.Median)), report.Number(int(rate.Low)), report.Number(int(rate.High)),
		}}
		if !p.good() {
			row.Tone = chart.Bad
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
