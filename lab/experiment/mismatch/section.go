package mismatch

import (
	"fmt"
	"slices"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section shows the experiment to people.
func (r *Result) Section() report.Section {
	return report.Section{
		Name:     "mismatch",
		Title:    "One key, two requests",
		Articles: "article 000",
		Lead: fmt.Sprintf("A client sends a request to a shop's HTTP handler and then, by a mistake of its own, another "+
			"one under the same key: another amount, the reverse, and a refund, and for comparison the same request with "+
			"its JSON in another order; each to %d designs. A table of key, status and response takes the second for a "+
			"retry of the first and tells it 200: nothing fails and nothing is logged. A fingerprint of the request, kept "+
			"with the key, turns that into a 422.\n\nThen %d callers ask for one charge, one after the other, and each "+
			"design writes the charge's id to the first and to the later ones, for charge 1 and again for the first "+
			"integer that a float64 does not have.",
			len(r.designs()), r.Callers),
		Charts:   []chart.Chart{r.chart(larger, 49), r.chart(smaller, 9_000)},
		Tables:   []report.Table{r.requestTable(), r.receiptTable()},
		Findings: r.findings(),
	}
}

// designs are those of the result, in order.
func (r *Result) designs() []string {
	var all []string
	for _, e := range r.Exchanges {
		if !slices.Contains(all, e.Design) {
			all = append(all, e.Design)
		}
	}
	return all
}

// chart shows what a request asked for, and what its answer is the receipt of; article is the article's figure for that, in
// dollars.
func (r *Result) chart(scene string, article float64) chart.Bars {
	bars := chart.Bars{Title: scene + ", under one key: what the second request's receipt is for", Unit: "dollars"}
	asked := r.exchange(scene, noFingerprint).AskedCents
	bars.Bars = append(bars.Bars, chart.Bar{Label: "asked for", Value: dollars(asked), Text: report.Dollars(asked)})
	for _, d := range r.designs() {
		e := r.exchange(scene, d)
		bar := chart.Bar{Label: d, Value: dollars(e.NamedCents), Text: fmt.Sprintf("%d, no receipt", e.Status), Tone: e.tone()}
		if e.Named != "" {
			bar.Text = fmt.Sprintf("%s, and %s charged in all", report.Dollars(e.NamedCents), report.Dollars(e.ChargedCents))
		}
		if d == noFingerprint {
			bar.Article = article
		}
		bars.Bars = append(bars.Bars, bar)
	}
	return bars
}

func dollars(cents int64) float64 { return float64(cents) / 100 }

// tone says whether the answer was another request's.
func (e Exchange) tone() chart.Tone {
	switch {
	case e.wrong():
		return chart.Bad
	case e.Ours:
		return chart.Good
	}
	return chart.Plain
}

func (r *Result) requestTable() report.Table {
	names := []string{larger, smaller, elsewhere, rewritten}
	table := report.Table{
		Title:   "What the second request under one key is told",
		Columns: append([]string{"design"}, names...),
		Note: "A charge or a refund is what the answer, a 200, names. It is the article's answer, which holds an id and " +
			"no amount. So a client prints the amount that it asked for, and in the reverse order the customer holds a " +
			"$49 receipt for a $9,000 charge. By default a key of the product is another one at each endpoint, so that a " +
			"refund under a charge's key is a refund. With ScopeTenant a key is one request's wherever it comes, as with " +
			"Stripe. A fingerprint of the body's bytes refuses a retry whose JSON is in another order; the product " +
			"compares what the JSON says.",
	}
	for _, d := range r.designs() {
		row := report.Row{Cells: []string{d}}
		for _, s := range names {
			e := r.exchange(s, d)
			row.Cells = append(row.Cells, e.says())
			if row.Tone != chart.Bad {
				row.Tone = e.tone()
			}
		}
		table.Rows = append(table.Rows, row)
	}
	for _, article := range [][]string{
		{"article 000, no fingerprint", "charge of $49.00", "charge of $9,000.00", "–", "–"},
		{"article 000, fingerprint of both", "422", "–", "422", "–"},
	} {
		table.Rows = append(table.Rows, report.Row{Cells: article, Tone: chart.Article})
	}
	return table
}

func (r *Result) receiptTable() report.Table {
	table := report.Table{
		Title:   "The answer to one charge, first and later",
		Columns: []string{"how the id is written", "first answer", "later answers", "replays", "bytes", "value"},
		Note: "In node-postgres an int8 arrives as a string, and the article's trap is to make a number of it on the " +
			"first path only. In Go an int8 arrives as an int64, and the trap is on the other path: ->> makes text of it, " +
			"a decoder that knows no type makes a float64 of it, and jsonb keeps a value and not the bytes, so that even " +
			"the column itself is not what was sent. The product stores the answer's bytes. Values are the same here when " +
			"types and all digits are.",
	}
	for _, one := range r.Receipts {
		row := report.Row{Cells: []string{
			one.Writer, one.First, one.Later, report.Number(one.Replays), verdict(one.SameBytes), verdict(one.SameValue),
		}}
		switch {
		case !one.SameValue:
			row.Tone = chart.Bad
		case one.Ours:
			row.Tone = chart.Good
		}
		table.Rows = append(table.Rows, row)
	}
	table.Rows = append(table.Rows, report.Row{
		Cells: []string{"article 000, number and then string", "1", `"1"`, "7", "other", "other"}, Tone: chart.Article,
	})
	return table
}

func verdict(same bool) string {
	if same {
		return "the same"
	}
	return "other"
}
