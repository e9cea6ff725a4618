package cleanup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// reasonsTable is the broken error path, step by step.
func (r *Result) reasonsTable() report.Table {
	t := report.Table{
		Title:   "Three reasons why the same line does nothing: a request and its retry",
		Columns: []string{"Case", "Step", "Here", "In the article"},
		Note:    "The UPDATE's error also hides the first one: the client is told of a 25P02 or a 23514, and not of what went wrong.",
	}
	for _, one := range []struct {
		Design
		article map[string]string
	}{
		{r.of(insideSQL, faultReceipt), map[string]string{workStep: "23505", cleanupStep: "25P02", selectStep: "in_progress"}},
		{r.of(insideHealthy, faultMail), map[string]string{cleanupStep: "23514"}},
		{r.of(insideAllowed, faultMail), map[string]string{rollbackStep: "undoes it"}},
	} {
		name := one.Name
		for _, s := range one.Steps {
			t.Rows = append(t.Rows, report.Row{Cells: []string{name, s.Does, s.Answer, one.article[s.Does]}})
			name = ""
		}
	}
	return t
}

func (r *Result) designsTable() report.Table {
	t := report.Table{
		Title:   fmt.Sprintf("What became of %d keys whose first request failed", r.Keys),
		Columns: []string{"Design", "The first request", "Clients that could buy", "Keys dead", "Outcome unknown", "Charged twice"},
		Note: "Dead: still answered 409 as if somebody were at work. Outcome unknown: named so, and listed, until an " +
			"operator looked; then these clients could buy as well.",
	}
	for _, d := range r.Designs {
		t.Rows = append(t.Rows, report.Row{Cells: []string{d.Name, d.Fault, strconv.Itoa(d.Completed), strconv.Itoa(d.Dead),
			strconv.Itoa(d.Unknown), strconv.Itoa(d.ChargedTwice)}, Tone: d.tone()})
	}
	return t
}

func (r *Result) answersTable() report.Table {
	times := []string{atFirst, atOnce, aLeaseLater, aYearLater, afterOperator}
	t := report.Table{Title: "What the clients were told", Columns: []string{"Design"}}
	for _, when := range times {
		t.Columns = append(t.Columns, strings.ToUpper(when[:1])+when[1:])
	}
	for _, d := range r.Designs {
		row := report.Row{Cells: []string{d.Name + ": " + d.Fault}, Tone: d.tone()}
		for _, when := range times {
			row.Cells = append(row.Cells, d.answers(when))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// answers are those of one time in words: one where all are equal, a dash where nobody came any more.
func (d Design) answers(when string) string {
	for _, s := range d.Stages {
		if s.When != when {
			continue
		}
		var texts []string
		for _, a := range slices.Sorted(maps.Keys(s.Answers)) {
			if len(s.Answers) == 1 {
				return a
			}
			texts = append(texts, fmt.Sprintf("%d × %s", s.Answers[a], a))
		}
		return strings.Join(texts, ", ")
	}
	return "–"
}

func (r *Result) vanishedTable() report.Table {
	t := report.Table{
		Title:   "A row that is there for the INSERT and gone for the SELECT",
		Columns: []string{"Handler", "Deleted by", "Times", "Looks", "Answer", "The same request again", "Charges"},
		Note: "The article: unguarded THREW TypeError: Cannot read properties of undefined (reading 'endpoint'); with " +
			"retry: claimed on attempt 2. In Go the TypeError is pgx.ErrNoRows, and a 500.",
	}
	for _, v := range r.Vanished {
		tone := chart.Good
		if strings.HasPrefix(v.Answer, "500") {
			tone = chart.Bad
		}
		t.Rows = append(t.Rows, report.Row{Cells: []string{v.Handler, v.By, strconv.Itoa(v.Times), strconv.Itoa(v.Looks), v.Answer,
			v.Again,
			strconv.Itoa(v.Charges)}, Tone: tone})
	}
	return t
}

// stepsTable tells of one row that vanishes.
func (r *Result) stepsTable() report.Table {
	t := report.Table{
		Title:   "How the row vanishes, step by step",
		Columns: []string{"Handler", "Step", "Answer"},
		Note: "The product's INSERT and SELECT travel in one round trip. Triggers of the experiment stop them in the " +
			"server, so that the rival and the sweep come in between.",
	}
	for _, v := range r.Vanished {
		if v.Times > 1 || v.By != byOwner && (v.By != bySweep || v.Handler != doLoses) {
			continue
		}
		name := v.Handler
		for _, s := range v.Steps {
			t.Rows = append(t.Rows, report.Row{Cells: []string{name, s.Does, s.Answer}})
			name = ""
		}
	}
	return t
}
