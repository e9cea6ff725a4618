package race

import (
	"fmt"
	"strings"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section shows the race to people.
func (r *Result) Section() report.Section {
	return report.Section{
		Name:     "race",
		Title:    "Several workers, one key",
		Articles: "article 000",
		Lead: fmt.Sprintf("%d workers send one payment of %s under one key, released from a barrier at the same instant, "+
			"in %d trials a design. A charge takes %s inside the handler's transaction, and no unique index stands on the "+
			"charges, so that what is counted is what the handler did. Whatever looks first and writes afterwards charges "+
			"the customer several times, and a lock on a row that does not exist yet changes nothing: the claim must be "+
			"one statement, and a unique key must decide it.\n\nSERIALIZABLE charges once too. What that costs is "+
			"measured next to it, at a report that reads accounts which no payment touches: %d × %s each way, in turn.",
			r.Workers, report.Dollars(price), r.Trials, report.Duration(r.DelaySeconds),
			r.Rounds, report.Duration(r.RoundSeconds)),
		Charts:   []chart.Chart{r.paidChart(), r.bystanderChart()},
		Tables:   []report.Table{r.designTable(), r.bystanderTable()},
		Findings: r.findings(),
	}
}

const price = 49_00 // of the article's course, in cents

// tone says whether the design keeps what it is there to show.
func (d Design) tone() chart.Tone {
	duplicates := d.sum(func(t experiment.Result) int { return t.Duplicates })
	switch {
	case len(d.Trials) == 0:
		return chart.Skipped
	case duplicates > 0:
		return chart.Bad
	case d.Kind == Safe || d.Kind == Ours:
		return chart.Good
	}
	return chart.Plain
}

func (r *Result) paidChart() chart.Bars {
	bars := chart.Bars{
		Title: fmt.Sprintf("What one payment of %s cost the customer, in the worst trial", report.Dollars(price)),
		Unit:  "dollars",
	}
	for _, d := range r.Designs {
		paid := d.worst()
		bar := chart.Bar{
			Label: d.Name, Value: float64(paid.AmountCents) / 100, Tone: d.tone(),
			Text: fmt.Sprintf("%s, %d × %s", report.Dollars(paid.AmountCents), paid.Charges, report.Dollars(price)),
		}
		if d.Article != nil {
			bar.Article = float64(d.Article.Cents) / 100
		}
		bars.Bars = append(bars.Bars, bar)
	}
	return bars
}

func (r *Result) designTable() report.Table {
	table := report.Table{
		Title:   fmt.Sprintf("One payment of %s from %d workers at once", report.Dollars(price), r.Workers),
		Columns: []string{"design", "charges by trial", "paid at worst", "answers in all trials", "article 000"},
		Note: "23505 and 40001 are PostgreSQL's errors, raw, as a handler that does not expect them passes them on: a " +
			"customer is told that the purchase failed. Where the row exists, the payment was made once before the " +
			"workers came. Every worker of the product has a Store of its own, so the workers are processes that share " +
			"only the database. The article's figures are those of its eight workers, in the worst of three trials.",
	}
	for _, d := range r.Designs {
		answers := d.answers()
		if d.RunAgain > 0 {
			answers += fmt.Sprintf(", run again × %d", d.RunAgain)
		}
		table.Rows = append(table.Rows, report.Row{
			Cells: []string{d.Name, d.charges(), report.Dollars(d.worst().AmountCents), answers, d.Article.String()},
			Tone:  d.tone(),
		})
	}
	return table
}

func (r *Result) bystanderChart() chart.Bars {
	bars := chart.Bars{Title: "A report that has nothing to do with the payments", Unit: "transactions a second"}
	for _, b := range r.Bystanders {
		lower, median, upper := b.quartiles()
		bars.Bars = append(bars.Bars, chart.Bar{
			Label: b.label(), Value: median, Low: lower, High: upper, Text: report.Number(int(median)),
		})
	}
	return bars
}

func (b Bystander) label() string {
	return fmt.Sprintf("%s, next to %s payments", strings.ToUpper(string(b.Isolation)), strings.ToUpper(string(b.Payments)))
}

func (r *Result) bystanderTable() report.Table {
	table := report.Table{
		Title:   "The report, by its own isolation and that of the payments next to it",
		Columns: []string{"report", "transactions/s", "middle half", "ratio", "predicate locks", "payments", "run again"},
		Note: "The median of short rounds that take turns; the ratio is that of rounds next to each other, to the first " +
			"line. Predicate locks are those of one open transaction of the report. PostgreSQL takes them for " +
			"SERIALIZABLE transactions and looks for conflicts among those only: another one has no tracking to pay for, " +
			"and their guarantee does not cover what it does. So whatever touches the invariant has to be SERIALIZABLE, " +
			"and then it pays. The payments, each under a key of its own, are run again where they met on one page of an " +
			"index.",
	}
	for _, b := range r.Bystanders {
		lower, median, upper := b.quartiles()
		table.Rows = append(table.Rows, report.Row{Cells: []string{
			b.label(), report.Number(int(median)), report.Number(int(lower)) + "–" + report.Number(int(upper)),
			fmt.Sprintf("%.2f", r.rate(b)), report.Number(b.PredicateLocks), report.Number(b.Paid), report.Number(b.RunAgain),
		}})
	}
	return table
}
