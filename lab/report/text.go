package report

import (
	"io"
	"strings"

	"github.com/pgidem/pgidem/lab/report/chart"
)

// Text is a Section on a terminal or in a file. With Color, rows are red where money is lost and green where a promise was kept.
type Text struct {
	Section
	Color bool
}

// Write writes it to w.
func (t Text) Write(w io.Writer) error {
	paragraphs := []string{}
	for lead := range strings.SplitSeq(t.Lead, "\n\n") {
		paragraphs = append(paragraphs, wrap(lead))
	}
	for _, table := range t.Tables {
		paragraphs = append(paragraphs, wrap(table.Title)+":", t.table(table))
		if table.Note != "" {
			paragraphs = append(paragraphs, wrap(table.Note))
		}
	}
	if len(t.Findings) > 0 {
		paragraphs = append(paragraphs, t.findings())
	}
	_, err := io.WriteString(w, strings.Join(paragraphs, "\n\n")+"\n")
	return err
}

func (t Text) table(table Table) string {
	rows := [][]string{table.Columns}
	for _, r := range table.Rows {
		rows = append(rows, r.Cells)
	}
	lines := tableLines(rows)
	for i, r := range table.Rows {
		lines[i+1] = t.paint(lines[i+1], r.Tone)
	}
	return strings.Join(lines, "\n")
}

func (t Text) findings() string {
	lines := make([]string, len(t.Findings))
	for i, f := range t.Findings {
		mark := string(f.Verdict())
		lines[i] = t.paint("  "+mark+margin[2+len(mark):], f.Verdict().tone()) + indented(f.String())
	}
	return strings.Join(lines, "\n")
}

// margin is the room that verdicts have beside findings.
const margin = "            "

func indented(text string) string {
	return strings.ReplaceAll(wrapTo(text, 80-len(margin)), "\n", "\n"+margin)
}

func (t Text) paint(text string, tone chart.Tone) string {
	const red, green, plain = "\x1b[31m", "\x1b[32m", "\x1b[0m"
	switch {
	case t.Color && tone == chart.Bad:
		return red + text + plain
	case t.Color && tone == chart.Good:
		return green + text + plain
	}
	return text
}
