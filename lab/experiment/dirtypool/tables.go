package dirtypool

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

var writesColumns = []string{"Pool", "Connections", "B", "Rows that survive", "B's row destroyed", "A's row survived",
	"Left open"}

// survivors are those of the first round, and none is a word.
func survivors(w Writes) string {
	if len(w.Survivors) == 0 {
		return "none"
	}
	return strings.Join(w.Survivors, ", ")
}

func (w Writes) cells(pool string) []string {
	b := "comes second"
	if w.Overlap {
		b = "is at work"
	}
	return []string{pool, strconv.Itoa(w.Connections), b, survivors(w),
		strconv.Itoa(w.Destroyed), strconv.Itoa(w.Kept), strconv.Itoa(w.LeftOpen)}
}

func (r *Result) onPool() report.Table {
	t := report.Table{
		Title:   fmt.Sprintf("BEGIN on the pool, %d rounds each", r.Rounds),
		Columns: writesColumns,
		Rows: []report.Row{
			{Cells: []string{"node-postgres (the article)", "1", "", "none", "", "", ""}, Tone: chart.Article},
			{Cells: []string{"node-postgres (the article)", "4", "", "B, A", "", "", ""}, Tone: chart.Article},
		},
		Note: "B at work: B has been given its connection when A begins. Left open: transactions that stand open on an " +
			"idle connection of the pool when both handlers have ended, with their locks and snapshots. lib/pq keeps " +
			"such a connection and hands it on. pgxpool closes it as it comes back. pgx under database/sql closes it " +
			"when somebody is about to get it, and until then it stays.",
	}
	for _, w := range r.all(OnPool) {
		t.Rows = append(t.Rows, report.Row{Cells: w.cells(w.Pool), Tone: w.tone()})
	}
	return t
}

func (r *Result) kept() report.Table {
	t := report.Table{
		Title:   fmt.Sprintf("The same on a connection that A has to itself, %d rounds each", r.Rounds),
		Columns: writesColumns,
		Note:    "On a pool of one, B waits until A has given the connection back.",
	}
	for _, w := range r.all(CheckedOut) {
		t.Rows = append(t.Rows, report.Row{Cells: w.cells(w.Pool + ", checked out"), Tone: w.tone()})
	}
	for _, w := range r.all(Product) {
		t.Rows = append(t.Rows, report.Row{Cells: w.cells(w.Pool + ", " + string(Product)), Tone: w.tone()})
	}
	return t
}

// steps are those of the scenes that tell the story.
func (r *Result) steps() report.Table {
	t := report.Table{
		Title:   "Which connection each statement met, in the first round",
		Columns: []string{"Pool", "Step", "Connection", "Answer"},
	}
	for _, w := range []Writes{
		r.at(OnPool, pqSQL, narrow, false),
		r.at(OnPool, pqSQL, wide, true),
		r.at(OnPool, pgxPool, narrow, false),
		r.at(Product, pgxPool, wide, false),
	} {
		name := fmt.Sprintf("%s, %d", w.Pool, w.Connections)
		if w.Handler == Product {
			name = fmt.Sprintf("%s, %d", Product, w.Connections)
		}
		for _, s := range w.Steps {
			connection := "–"
			if s.Connection > 0 {
				connection = strconv.Itoa(s.Connection)
			}
			t.Rows = append(t.Rows, report.Row{Cells: []string{name, s.Handler + ": " + s.Does, connection, s.Answer}})
			name = ""
		}
	}
	return t
}

func (r *Result) locks() report.Table {
	t := report.Table{
		Title:   "SELECT ... FOR UPDATE: whether somebody else gets the row before A has ended",
		Columns: []string{"Pool", "Connections", "B", "B, on the pool", "A session outside"},
		Note:    "Asked with NOWAIT; a refusal is SQLSTATE " + lockNotAvailable + ".",
	}
	yes := map[bool]string{true: "gets it", false: "is refused"}
	for _, l := range r.Locks {
		pool, b, tone := l.Pool, "comes second", chart.Good
		if l.Handler != OnPool {
			pool += ", " + string(l.Handler)
		}
		if l.Overlap {
			b = "is at work"
		}
		if l.Beside || l.Outside {
			tone = chart.Bad
		}
		t.Rows = append(t.Rows, report.Row{
			Cells: []string{pool, strconv.Itoa(l.Connections), b, yes[l.Beside], yes[l.Outside]},
			Tone:  tone,
		})
	}
	return t
}
