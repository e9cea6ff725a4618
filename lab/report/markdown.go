package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Markdown is a Page as a part of a document, in short: the machine, then of each chapter the command that repeats it, its first table
// and what did not hold. The rest stands in the page.
type Markdown struct {
	Page
	Report string // address of the page itself
}

// Write writes it to w. Its headings are of the third level.
func (m Markdown) Write(w io.Writer) error {
	paragraphs := []string{m.run()}
	for _, c := range m.Chapters {
		paragraphs = append(paragraphs, chapterMarkdown(c.Section)...)
	}
	_, err := io.WriteString(w, strings.Join(paragraphs, "\n\n")+"\n")
	return err
}

func (m Markdown) run() string {
	facts := make([]string, 0, len(m.Facts()))
	for _, f := range m.Facts() {
		facts = append(facts, f.Name+" "+escape(f.Value))
	}
	return fmt.Sprintf("`make lab` measured all of this in one run, and wrote it here. With charts: [%s](%s). %s; %s.",
		m.Report, m.Report, m.Tally(), strings.Join(facts, "; "))
}

func chapterMarkdown(s Section) []string {
	paragraphs := []string{"### " + escape(s.Title), fmt.Sprintf("```sh\ngo -C lab run ./cmd/lab %s\n```", s.Name)}
	if len(s.Tables) > 0 {
		paragraphs = append(paragraphs, escape(s.Tables[0].Title)+":", tableMarkdown(s.Tables[0]))
	}
	lines := []string{fmt.Sprintf("Claims of the articles and of pgidem: %s.", s.Tally())}
	for _, f := range s.Findings {
		if !f.Holds {
			lines = append(lines, fmt.Sprintf("- **%s** %s", f.Verdict(), escape(f.String())))
		}
	}
	for _, left := range s.Skipped {
		lines = append(lines, "- **skipped** "+escape(left))
	}
	return append(paragraphs, strings.Join(lines, "\n"))
}

func tableMarkdown(t Table) string {
	view := newTableView(t)
	head, rule := make([]string, len(view.Columns)), make([]string, len(view.Columns))
	for i, c := range view.Columns {
		head[i], rule[i] = c.Name, "---"
		if c.Number {
			rule[i] = "---:"
		}
	}
	lines := []string{lineMarkdown(head), "|" + strings.Join(rule, "|") + "|"}
	for _, r := range t.Rows {
		lines = append(lines, lineMarkdown(r.Cells))
	}
	return strings.Join(lines, "\n")
}

func lineMarkdown(cells []string) string {
	cells = slices.Clone(cells)
	for i, c := range cells {
		cells[i] = escape(c)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// escape lets text stand for itself.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`").Replace(text)
}
