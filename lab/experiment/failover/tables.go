package failover

import (
	"slices"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
)

func (r *Result) failoverTable() report.Table {
	table := report.Table{
		Title: "What each design made of the failover",
		Columns: []string{
			"claims in", "design", "processor", "confirmed", "lost", "answered, then lost", "charged twice", "for an operator",
		},
		Note: "Confirmed: claims that the primary showed. Lost: of them, those that the promoted replica does not have. Answered, " +
			"then lost: customers who had an answer that the replica does not have; with Store.Do their orders are gone with it, " +
			"otherwise the charge stands. The shop sends the processor a key with each charge; the one that charges every call " +
			"does not look at it. For an operator: Hold under StaleRefuse says that the outcome is unknown, and charges nothing.",
	}
	for _, f := range r.Failovers {
		for _, row := range f.Rows {
			all := row.All()
			table.Rows = append(table.Rows, f.row(row, all.Confirmed, all.Lost, all.Forgotten, all.Duplicates, all.Unknown))
		}
	}
	return table
}

func (r *Result) groupTable() report.Table {
	table := report.Table{
		Title:   "Which payments a processor that charges every call took twice, by when they came",
		Columns: []string{"claims in", "design", "processor", "answered and copied", "in hand", "after the link was parted"},
		Note: "What was in hand when the primary was lost is a claim without an answer. The designs of article 003 take it over " +
			"and charge again; StaleRefuse leaves it to an operator. A claim that is lost can be refused by nobody but the processor.",
	}
	for _, f := range r.Failovers {
		for _, row := range f.Rows {
			if row.Processor == Charges {
				table.Rows = append(table.Rows, f.row(row, row.Settled.Duplicates, row.InHand.Duplicates, row.Late.Duplicates))
			}
		}
	}
	return table
}

// row is a row of a table with figures, or with the reason why there are none.
func (f Failover) row(r Row, figures ...int) report.Row {
	cells := []string{string(f.System), r.Design, string(r.Processor)}
	if f.Skipped != "" {
		cells = slices.Concat(cells, slices.Repeat([]string{"–"}, len(figures)))
		cells[len(cells)-len(figures)] = f.Skipped
		return report.Row{Cells: cells, Tone: f.tone(r)}
	}
	for _, n := range figures {
		cells = append(cells, number(n))
	}
	return report.Row{Cells: cells, Tone: f.tone(r)}
}

// checkTable has no rows where no server was PostgreSQL.
func (r *Result) checkTable() report.Table {
	table := report.Table{
		Title:   "What idem check says of the servers",
		Columns: []string{"claims in", "server", "idem check"},
		Note: "It asks one server about itself: a standby, and commits that do not wait for a synchronous one, are named. That there is an " +
			"asynchronous standby, which a failover would promote, it cannot know.",
	}
	for _, f := range r.Failovers {
		if f.Check == nil {
			continue
		}
		for _, one := range [][2]string{
			{"the primary", f.Check.Primary}, {"its standby", f.Check.Standby}, {"the standby, promoted", f.Check.Promoted},
		} {
			finding, _, _ := strings.Cut(one[1], ":") // after it stands the cure
			if finding == "" {
				finding = "nothing"
			}
			table.Rows = append(table.Rows, report.Row{Cells: []string{string(f.System), one[0], finding}})
		}
	}
	return table
}
