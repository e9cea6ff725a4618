package crash

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section implements workbench.Result.
func (c *Result) Section() report.Section {
	theirs, ours := c.split()
	s := report.Section{
		Name:     "crash",
		Title:    "A worker dies between the charge and its mark",
		Articles: "articles 003 and 004",
		Charts:   []chart.Chart{c.chart()},
		Tables: []report.Table{
			{
				Title:   "The six designs of article 003",
				Columns: append(columns(), "article 003"),
				Rows:    rows(theirs),
				Note:    "Beside each row what article 003 prints for it, for 1,000 keys and 100 crashes (charges and duplicates).",
			},
			{
				Title:   fmt.Sprintf("The same through pgidem, with leases of %s", report.Duration(c.LeaseSeconds)),
				Columns: columns(),
				Rows:    rows(ours),
				Note:    c.note(),
			},
		},
		Findings: c.findings(),
	}
	for _, r := range c.Rows {
		if r.Skipped != "" {
			s.Skipped = append(s.Skipped, r.Design+": "+r.Skipped)
		}
	}
	s.Lead = c.lead()
	if len(s.Failed()) == 0 {
		s.Lead += "\n\n" + c.sentence()
	}
	return s
}

// split parts the article's designs from the product's.
func (c *Result) split() (theirs, ours []Row) {
	for _, r := range c.Rows {
		if r.Ours {
			ours = append(ours, r)
		} else {
			theirs = append(theirs, r)
		}
	}
	return theirs, ours
}

func (c *Result) lead() string {
	return fmt.Sprintf("%s payments go through each design, %d workers at a time, each a process of its own; the card processor "+
		"is one too. On %s keys the worker dies by SIGKILL after the charge and before the completion mark; the client comes again "+
		"every %s, and a pending key counts as stale after %s. A call that lands late is one whose worker dies as soon as the "+
		"processor is asked: its charge lands when the key has been taken up again, however long Settle is.",
		report.Number(c.Keys), c.Workers, report.Number(c.Kills), report.Duration(c.RetrySeconds), report.Duration(c.StaleSeconds))
}

// sentence says what the numbers mean, when every finding that must hold does.
func (c *Result) sentence() string {
	text := fmt.Sprintf("A crash between the charge and its mark became a second charge, %s times of %s, wherever nothing but "+
		"the key store stood guard. It became none where the charge is in the key's own transaction, where the processor refuses to "+
		"repeat a key, where it can be asked and says what is pending, and where the key is left to an operator; and every payment "+
		"was answered.", report.Number(c.Kills), report.Number(c.Kills))
	if last := c.Rows[len(c.Rows)-1]; last.Ours && !last.Once {
		text += " The last row is where that ends: a processor that says that nothing has happened while a call is on its way is " +
			"asked to charge again. StaleResolve is not for it, unless Settle is longer than a call can take."
	}
	return text
}

// note explains the keys that were left to an operator.
func (c *Result) note() string {
	for _, r := range c.Rows {
		if r.Operator && r.Unresolved > 0 {
			return fmt.Sprintf("Unresolved keys are those that no policy may decide: their clients are told that the outcome is "+
				"unknown, and they are listed. Here an operator looked each of the %s up in the processor's books and settled it, and its "+
				"client then got that answer.", report.Number(r.Unresolved))
		}
	}
	return ""
}

func columns() []string {
	return []string{"design", "charges", "duplicates", "unresolved", "answered", "seconds"}
}

func rows(of []Row) []report.Row {
	var all []report.Row
	for _, r := range of {
		cells := []string{
			r.Design, report.Number(r.Charges), report.Number(r.Duplicates), report.Number(r.Unresolved), report.Number(r.Answered),
			fmt.Sprintf("%.1f", r.Seconds),
		}
		if r.Skipped != "" {
			cells = []string{r.Design, r.Skipped, "", "", "", ""}
		}
		if r.Article != nil {
			cells = append(cells, report.Number(r.Article.Charges)+" / "+report.Number(r.Article.Duplicates))
		}
		all = append(all, report.Row{Cells: cells, Tone: r.tone()})
	}
	return all
}

// tone says whether money was lost, or a promise kept.
func (r Row) tone() chart.Tone {
	switch {
	case r.Skipped != "":
		return chart.Skipped
	case r.Duplicates > 0 || r.Missing > 0:
		return chart.Bad
	case r.Once:
		return chart.Good
	}
	return chart.Plain
}

func (c *Result) chart() chart.Bars {
	bars := chart.Bars{Title: fmt.Sprintf("Second charges after %s crashes", report.Number(c.Kills)), Unit: "duplicate charges"}
	for _, r := range c.Rows {
		bar := chart.Bar{Label: r.Design, Value: float64(r.Duplicates), Text: report.Number(r.Duplicates), Tone: r.tone()}
		if r.Ours {
			bar.Label = "pgidem: " + r.Design
		}
		if r.Article != nil && c.Kills == articleKills {
			bar.Article = float64(r.Article.Duplicates)
		}
		if r.Skipped != "" {
			bar.Text = r.Skipped
		}
		bars.Bars = append(bars.Bars, bar)
	}
	return bars
}
