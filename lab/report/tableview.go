package report

import (
	"strings"
	"unicode/utf8"

	"github.com/pgidem/pgidem/lab/report/chart"
)

// tableView is a Table as the page lays it out.
type tableView struct {
	Table
	Columns []columnView
	Rows    []rowView
	// Narrow is set where it fits a phone as a table; elsewhere a phone shows each row by itself.
	Narrow bool
}

type columnView struct {
	Name    string
	Number  bool // aligned to the right
	Article bool // the article's figures, not measured here
}

type rowView struct {
	Tone  chart.Tone
	Head  string
	Cells []cellView
}

type cellView struct {
	columnView
	Text string
	Long bool // wants a line of its own on a phone
}

const (
	narrowTable = 36 // letters that stand side by side on a phone
	longCell    = 20 // letters that half a phone has room for
)

func newTableView(t Table) tableView {
	v := tableView{Table: t}
	var cells [][]string
	for _, r := range t.Rows {
		if r.Tone != chart.Skipped { // whose words do not make a column one of words
			cells = append(cells, r.Cells)
		}
	}
	width := 0
	for i, name := range t.Columns {
		c := columnView{
			Name:    name,
			Number:  i > 0 && numeric(cells, i),
			Article: strings.Contains(strings.ToLower(name), "article"),
		}
		longest := utf8.RuneCountInString(name)
		for _, r := range t.Rows {
			longest = max(longest, utf8.RuneCountInString(r.Cells[i]))
		}
		width += longest + 2
		v.Columns = append(v.Columns, c)
	}
	v.Narrow = width <= narrowTable
	for _, r := range t.Rows {
		row := rowView{Tone: r.Tone, Head: r.Cells[0]}
		for i, text := range r.Cells[1:] {
			long := max(utf8.RuneCountInString(text), utf8.RuneCountInString(t.Columns[i+1])) > longCell
			row.Cells = append(row.Cells, cellView{v.Columns[i+1], text, long})
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}
