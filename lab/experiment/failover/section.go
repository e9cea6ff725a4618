package failover

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section implements workbench.Result.
func (r *Result) Section() report.Section {
	s := report.Section{
		Name:     "failover",
		Title:    "The claims' server is lost, and its replica takes over",
		Articles: "article 003 (what it left out)",
		Lead:     r.story(),
		Charts:   []chart.Chart{r.duplicatesChart(), r.lostChart()},
		Tables:   []report.Table{r.failoverTable(), r.groupTable()},
		Findings: r.findings(),
	}
	if len(s.Failed()) == 0 {
		s.Lead += "\n\n" + moral
	}
	if table := r.checkTable(); len(table.Rows) > 0 {
		s.Tables = append(s.Tables, table)
	}
	for _, f := range r.Failovers {
		if f.Skipped != "" {
			s.Skipped = append(s.Skipped, string(f.System)+": "+f.Skipped)
		}
	}
	return s
}

func (r *Result) story() string {
	return fmt.Sprintf("The server that holds the claims is killed, and its replica is promoted: PostgreSQL with a standby that "+
		"follows by itself (async), PostgreSQL with one for which every commit waits (sync: synchronous_standby_names, and "+
		"synchronous_commit on), and Redis with a replica. The card processor stands outside and loses nothing. Of each design "+
		"%s payments are answered and copied to the replica; %s more are at the processor when the link to the replica is "+
		"parted, so that from then on it lags; %s come after that. Then the primary is killed, the replica is promoted, the "+
		"claims of whoever was at work lapse, and every customer comes again with the same key, for an answer may have been lost "+
		"on its way, too.", number(r.Settled), number(r.InHand), number(r.Late))
}

const moral = "A claim that was confirmed and is not on the replica is gone, and its key is free. What that costs is up to the " +
	"processor: one that refuses to repeat the downstream key makes the second request the first one's answer. A synchronous " +
	"standby makes sure that no claim is lost, by not confirming it. What it cannot save is a charge that was under way: that " +
	"is the crash of article 003 again."

// tone says whether customers kept their money, and what they were told.
func (f Failover) tone(r Row) chart.Tone {
	all := r.All()
	switch {
	case f.Skipped != "":
		return chart.Skipped
	case all.Duplicates > 0 || all.Missing > 0, r.Processor == Here && all.Forgotten > 0:
		return chart.Bad
	}
	return chart.Good
}

// downstream says the same as the processor, from the shop's side.
var downstream = map[Processor]string{
	Charges: "without a downstream key", Refuses: "with a downstream key", Here: "the charge is a row beside the key",
}

func (r *Result) duplicatesChart() chart.Bars {
	bars := chart.Bars{Title: "Payments that were charged twice after a failover", Unit: "payments"}
	for _, f := range r.Failovers {
		for _, row := range f.Rows {
			bar := chart.Bar{
				Label: fmt.Sprintf("%s, %s, %s", f.System, row.Design, downstream[row.Processor]),
				Value: float64(row.All().Duplicates), Text: number(row.All().Duplicates), Tone: f.tone(row),
			}
			if f.Skipped != "" {
				bar.Text = f.Skipped
			}
			bars.Bars = append(bars.Bars, bar)
		}
	}
	return bars
}

func (r *Result) lostChart() chart.Bars {
	bars := chart.Bars{Title: "Confirmed claims that the promoted replica does not have, all designs together", Unit: "claims"}
	for _, f := range r.Failovers {
		lost, confirmed := 0, 0
		for _, row := range f.Rows {
			lost += row.All().Lost
			confirmed += row.All().Confirmed
		}
		bar := chart.Bar{
			Label: string(f.System), Value: float64(lost), Tone: chart.Good,
			Text: fmt.Sprintf("%s of %s", number(lost), number(confirmed)),
		}
		switch {
		case f.Skipped != "":
			bar.Tone, bar.Text = chart.Skipped, f.Skipped
		case lost > 0:
			bar.Tone = chart.Bad
		}
		bars.Bars = append(bars.Bars, bar)
	}
	return bars
}
