package webhook

import (
	"fmt"
	"strconv"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section shows the result to people.
func (r *Result) Section() report.Section {
	return report.Section{
		Name:     "webhook",
		Title:    "Webhooks are a different ledger",
		Articles: article,
		Lead:     r.lead(),
		Charts:   []chart.Chart{r.keyChart(), r.deathChart()},
		Tables:   []report.Table{r.keyTable(), r.pairTable(), r.deathTable()},
		Findings: r.findings(),
	}
}

func (r *Result) lead() string {
	return fmt.Sprintf("A payment provider tells a shop of %s payments over HTTP. Each is two events, one after the other: at %s "+
		"the shop opens the course, at %s it enters the invoice in its books, which takes %g ms each. A provider delivers at least "+
		"once, so each event comes %d times at the same instant, to as many processes of the shop, and once more when all is "+
		"over.\n\n"+
		"Then the first events alone come twice, and meet: where the ledger is a SELECT, both deliveries look before either "+
		"works.\n\n"+
		"Last, processes of the shop are killed by SIGKILL with %d deliveries in hand each. Before that each event was delivered "+
		"once more, to a process that lives, which sees that it is in hand and answers 200 or 409. The provider comes back to "+
		"whatever was not answered 2xx, an hour later, for which the claims are made older in the database.",
		report.Number(r.Payments), completed, paid, r.WorkSeconds*1000, r.Copies, r.InHand)
}

func (k KeyRow) label() string {
	label := k.Ledger
	if k.Key != "" {
		label += ", by " + string(k.Key)
	}
	if k.Belt {
		label += ", unique index"
	}
	return label
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

func indexCell(belt bool) string {
	if belt {
		return "unique"
	}
	return "–"
}

func (f Fulfilled) tone() chart.Tone {
	if f.isWhole() {
		return chart.Good
	}
	return chart.Bad
}

func (r *Result) keyChart() chart.Chart {
	bars := chart.Bars{
		Title: "Events that were not fulfilled exactly once",
		Unit:  fmt.Sprintf("of %s events", report.Number(2*r.Payments)),
	}
	for _, k := range r.Keys {
		text := "0"
		switch {
		case k.Dropped > 0 && k.Repeated > 0:
			text = fmt.Sprintf("%s never, %s again", report.Number(k.Dropped), report.Number(k.Repeated))
		case k.Dropped > 0:
			text = report.Number(k.Dropped) + " never"
		case k.Repeated > 0:
			text = report.Number(k.Repeated) + " again"
		}
		wrong := float64(k.Dropped + k.Repeated)
		bars.Bars = append(bars.Bars, chart.Bar{Label: k.label(), Value: wrong, Text: text, Tone: k.tone()})
	}
	return bars
}

func (r *Result) deathChart() chart.Chart {
	bars := chart.Bars{
		Title: "Paid, and never delivered: the process was killed",
		Unit:  fmt.Sprintf("of %s payments", report.Number(r.Payments)),
	}
	for _, d := range r.Deaths {
		bars.Bars = append(bars.Bars, chart.Bar{
			Label: fmt.Sprintf("%s, answers %d", d.Ledger, d.Busy),
			Value: float64(d.Dropped),
			Text:  fmt.Sprintf("%s, %s", report.Number(d.Dropped), report.Dollars(d.LostCents)),
			Tone:  d.tone(),
		})
	}
	return bars
}

func (r *Result) keyTable() report.Table {
	t := report.Table{
		Title:   fmt.Sprintf("What became of %s events", report.Number(2*r.Payments)),
		Columns: []string{"ledger", "key", "index", "once", "again", "never", "works", "late works"},
		Note: "A claim with the work commits together with it. The index is a unique one on the payment. A work that is begun " +
			"again may send its mail again, though its row does not come to be; the late ones are those of deliveries that came " +
			"long after the event was fulfilled.",
	}
	for _, k := range r.Keys {
		t.Rows = append(t.Rows, report.Row{Tone: k.tone(), Cells: []string{
			k.Ledger, orDash(string(k.Key)), indexCell(k.Belt), report.Number(k.Once), report.Number(k.Repeated), report.Number(k.Dropped),
			report.Number(k.Started), report.Number(k.LateWorks),
		}})
	}
	return t
}

func (r *Result) pairTable() report.Table {
	t := report.Table{
		Title:   fmt.Sprintf("Two deliveries of an event that interleave, %s times", report.Number(r.Payments)),
		Columns: []string{"ledger", "index", "once", "twice", "works", "looks apart, median", "within 1 ms"},
	}
	for _, p := range r.Pairs {
		apart, within := "–", "–"
		if p.Apart.MedianSeconds > 0 {
			apart = strconv.FormatFloat(p.Apart.MedianSeconds*1000, 'f', 2, 64) + " ms"
			within = report.Number(p.WithinMillisecond)
		}
		t.Rows = append(t.Rows, report.Row{Tone: p.tone(), Cells: []string{
			p.Ledger, indexCell(p.Belt), report.Number(p.Once), report.Number(p.Repeated), report.Number(p.Started), apart, within,
		}})
	}
	return t
}

func (r *Result) deathTable() report.Table {
	killed := 0
	for _, d := range r.Deaths {
		killed = max(killed, d.Killed)
	}
	t := report.Table{
		Title:   fmt.Sprintf("%s events in the hands of %d processes that are killed", report.Number(r.Payments), killed),
		Columns: []string{"ledger", "answer", "200s", "409s", "after", "once", "lost", "money lost"},
		Note: "The first deliveries end without an answer. The answer is that to a second delivery while the first is in hand; " +
			"after a 200 the provider never comes back. A claim before the work is stale an hour later and is taken over; one with " +
			"the work is gone with its process.",
	}
	for _, d := range r.Deaths {
		t.Rows = append(t.Rows, report.Row{Tone: d.tone(), Cells: []string{
			d.Ledger, strconv.Itoa(d.Busy), report.Number(d.Told.OK), report.Number(d.Told.Conflict), report.Number(d.Again),
			report.Number(d.Once), report.Number(d.Dropped), report.Dollars(d.LostCents),
		}})
	}
	return t
}
