package report

import (
	"io"
	"strings"
)

// Summary is a Page on a terminal: a row a chapter, then what did not hold.
type Summary struct{ Page }

// Write writes it to w.
func (s Summary) Write(w io.Writer) error {
	rows := [][]string{{"experiment", "hold", "not here", "FAIL", "skipped", "time"}}
	for _, c := range s.Chapters {
		t := c.Tally()
		row := []string{c.Name, Number(t.Holds), Number(t.NotHere), Number(t.Fails), Number(t.Skipped), Took(c.Took)}
		if c.Err != nil {
			row = []string{c.Name, "-", "-", "-", "-", Took(c.Took)}
		}
		rows = append(rows, row)
	}
	paragraphs := []string{strings.Join(tableLines(rows), "\n")}
	for _, part := range []struct {
		title    string
		articles bool
	}{{"Where this run contradicts an article:", true}, {"Where this run contradicts what pgidem says:", false}} {
		if against := s.Against(part.articles); len(against) > 0 {
			paragraphs = append(paragraphs, part.title+"\n"+disagreements(against))
		}
	}
	_, err := io.WriteString(w, strings.Join(paragraphs, "\n\n")+"\n")
	return err
}

func disagreements(sections []Section) string {
	var lines []string
	for _, s := range sections {
		for _, f := range s.Findings {
			mark := string(f.Verdict())
			lines = append(lines, "  "+mark+margin[2+len(mark):]+indented(s.Name+", "+f.String()))
		}
	}
	return strings.Join(lines, "\n")
}
