package dirtypool

import (
	"fmt"
	"strconv"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section shows the result.
func (r *Result) Section() report.Section {
	return report.Section{
		Name:     "dirty-pool",
		Title:    "BEGIN on the pool",
		Articles: article,
		Lead: fmt.Sprintf("Two handlers share a pool of connections. A begins a transaction, inserts a row and rolls back. "+
			"B inserts a row that has nothing to do with it. The statements come in the article's order: A's BEGIN, B's "+
			"INSERT, A's INSERT, A's ROLLBACK. Only B's row should be left. Each order was played %d times, each time on a "+
			"new pool.\n\n"+
			"A that sends its BEGIN through the pool does not know which connection has it. Whether the next statement meets "+
			"that connection depends on the pool, its size and on who else is at work: either B is inside A's transaction, or "+
			"A is not. The same statements on a connection that is checked out, and in Store.Do, leave what they should.",
			r.Rounds),
		Charts:   []chart.Chart{r.chart()},
		Tables:   []report.Table{r.onPool(), r.kept(), r.steps(), r.locks()},
		Findings: r.findings(),
	}
}

func (r *Result) chart() chart.Bars {
	bars := chart.Bars{
		Title: fmt.Sprintf("ROLLBACKs that took another's row or left their own, of %d", r.Rounds),
		Unit:  "rounds",
	}
	for _, w := range r.Writes {
		if w.Handler == CheckedOut {
			continue
		}
		label := w.Pool + ", " + w.size()
		if w.Handler == Product {
			label = string(Product) + ", " + w.size()
		}
		bars.Bars = append(bars.Bars, chart.Bar{Label: label, Value: float64(w.wrong()), Text: w.text(), Tone: w.tone()})
	}
	return bars
}

func (s Scene) size() string {
	switch {
	case s.Connections == narrow:
		return "1 connection"
	case s.Overlap:
		return strconv.Itoa(s.Connections) + " connections, B at work"
	}
	return strconv.Itoa(s.Connections) + " connections"
}

func (w Writes) text() string {
	switch {
	case w.wrong() == 0:
		return "none"
	case w.Kept == 0:
		return strconv.Itoa(w.Destroyed) + ": B's row destroyed"
	case w.Destroyed == 0:
		return strconv.Itoa(w.Kept) + ": A's row survived"
	}
	return strconv.Itoa(w.wrong())
}

func (w Writes) tone() chart.Tone {
	if w.wrong() > 0 {
		return chart.Bad
	}
	return chart.Good
}
