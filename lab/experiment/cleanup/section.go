package cleanup

import (
	"fmt"
	"strconv"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section shows the result.
func (r *Result) Section() report.Section {
	return report.Section{
		Name:     "cleanup",
		Title:    "The clean-up that never runs",
		Articles: article,
		Lead: fmt.Sprintf("A purchase fails, and its client comes again with the same key. Whether it can ever buy is "+
			"decided by what the handler did to the key when it failed. Each design got %d keys whose first request fails: "+
			"with an SQL error, with an error of a mail server, with a processor that cannot be reached or whose answer is "+
			"lost, or because the process dies. A client that has not bought comes again at once, a lease later, a year later, "+
			"and after an operator has looked (the time is moved in the database). In the designs that get stuck the claim has "+
			"been committed before the work begins, as it must be where the work is elsewhere.\n\n"+
			"Then the row that a clean-up deletes under somebody: a handler's INSERT finds a claim, and when it looks, the "+
			"claim is gone.", r.Keys),
		Charts:   []chart.Chart{r.chart()},
		Tables:   []report.Table{r.reasonsTable(), r.designsTable(), r.answersTable(), r.vanishedTable(), r.stepsTable()},
		Findings: r.findings(),
	}
}

func (r *Result) chart() chart.Bars {
	bars := chart.Bars{
		Title: fmt.Sprintf("Keys, of %d, that are dead a year after their first request failed", r.Keys),
		Unit:  "keys",
	}
	for _, d := range r.Designs {
		bar := chart.Bar{Label: d.Name + ": " + d.Fault, Value: float64(d.Dead), Text: strconv.Itoa(d.Dead), Tone: d.tone()}
		if d.ChargedTwice > 0 {
			bar.Text += fmt.Sprintf(", but %d charged twice", d.ChargedTwice)
		}
		if d.Unknown > 0 {
			bar.Text += fmt.Sprintf("; %d named outcome-unknown", d.Unknown)
		}
		bars.Bars = append(bars.Bars, bar)
	}
	return bars
}

func (d Design) tone() chart.Tone {
	if d.Dead > 0 || d.ChargedTwice > 0 {
		return chart.Bad
	}
	return chart.Good
}
