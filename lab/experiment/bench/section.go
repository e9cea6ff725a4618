package bench

import (
	"fmt"
	"slices"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section implements workbench.Result.
func (r *Result) Section() report.Section {
	s := report.Section{
		Name:     "bench",
		Title:    "What a key costs",
		Articles: "article 003",
		Lead:     r.lead(),
		Findings: r.findings(),
	}
	replays := func(row Row) bool { return slices.Contains(replayArms, row.Arm) }
	for _, part := range []struct {
		title string
		rows  []Row
		of    [2]string
	}{
		{"New keys", slices.DeleteFunc(slices.Clone(r.Rows), replays), [2]string{redisClaim, bare}},
		{"Finished keys, and hot ones", slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return !replays(row) }),
			[2]string{replayPair, replaySelect}},
	} {
		if len(part.rows) > 0 {
			s.Charts = append(s.Charts, speeds(part.title, part.rows))
			s.Tables = append(s.Tables, r.speedTable(part.title, part.rows, part.of))
		}
	}
	if c, ok := r.delayChart(); ok {
		s.Charts = append(s.Charts, c)
		s.Tables = append(s.Tables, r.delayTable())
	}
	for _, t := range []report.Table{
		countTable("Counted for one operation, one caller", r.Alone, true),
		countTable(fmt.Sprintf("Counted for one operation, %d callers", r.Workers), r.Crowd, false),
		countTable("Very many replays, counted for one", r.Replays, false),
	} {
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	for _, row := range r.Rows {
		if row.Skipped != "" {
			s.Skipped = append(s.Skipped, row.Name+": "+row.Skipped)
		}
	}
	return s
}

// replayArms are those that do not take new keys from one caller each.
var replayArms = []string{
	replayPair, replaySelect, replayHold, replayDo, replayRiver, replayDBOS, hotHold, hotDo, hotReplayHold, hotReplayDo,
}

func (r *Result) lead() string {
	return fmt.Sprintf("Each arm does the same work: it takes a key, charges by inserting a row in PostgreSQL, and keeps an answer of "+
		"100 bytes. %s operations in a trial, %d callers, %d connections to PostgreSQL and as many to Redis, which saves nothing to "+
		"disk (save ''); %d trials by turns, after one that does not count. Figures are medians with the least and the greatest; "+
		"ratios are taken trial by trial, so that what slowed the machine for a while does not show in them. The database flushes "+
		"every commit.\n\n"+
		"Existing systems do the same work as far as they can. River inserts a job that is unique by the key, in the charge's "+
		"transaction; nobody works the jobs, and it keeps no answer. DBOS runs a workflow whose id is the key, with one "+
		"transaction that charges; its own tables are in the same database, and it has one connection more, to listen on.\n\n"+
		"What is counted instead of timed is counted on servers of their own, without full-page images and without autovacuum.",
		report.Number(r.Operations), r.Workers, r.Connections, r.Trials)
}

func (row Row) tone() chart.Tone {
	switch {
	case row.Skipped != "":
		return chart.Skipped
	case row.Ours:
		return chart.Good
	}
	return chart.Plain
}

func speeds(title string, rows []Row) chart.Bars {
	bars := chart.Bars{Title: title, Unit: "calls a second"}
	for _, row := range rows {
		bars.Bars = append(bars.Bars, chart.Bar{
			Label: row.Name, Value: row.CallsASecond.Median, Low: row.CallsASecond.Low, High: row.CallsASecond.High,
			Text: row.Skipped, Tone: row.tone(),
		})
	}
	return bars
}

// speedTable sets rows beside two of their arms.
func (r *Result) speedTable(title string, rows []Row, of [2]string) report.Table {
	t := report.Table{Title: title, Columns: []string{"arm", "calls/s"}}
	for _, id := range of {
		name := id
		if row := r.row(id); row != nil {
			name = row.Name
		}
		t.Columns = append(t.Columns, "times "+name)
	}
	for _, row := range rows {
		cells := []string{row.Name, row.Skipped, "–", "–"}
		if row.Skipped == "" {
			cells[1] = row.CallsASecond.Whole()
			for i, id := range of {
				if times := r.ratio(row.Arm, id); times != nil {
					cells[2+i] = times.Decimal()
				}
			}
		}
		t.Rows = append(t.Rows, report.Row{Cells: cells, Tone: row.tone()})
	}
	return t
}
