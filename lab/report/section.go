package report

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/report/chart"
)

// Section is one experiment's part of the report: on a terminal it is text, in the report a chapter.
type Section struct {
	Name     string // of the subcommand that runs it, such as race
	Title    string // what it shows, in some words, such as: Eight workers, one key
	Articles string // that it repeats, such as: article 000
	Lead     string // what was done, with what and how often; paragraphs are parted by an empty line
	Charts   []chart.Chart
	Tables   []Table
	Findings []Finding
	Skipped  []string // what was left out, and why; empty: nothing
}

// Table is a table with a head. A column is aligned to the right where every cell in it is a number.
type Table struct {
	Title   string   // a sentence without its full stop
	Columns []string // the first names the rows
	Rows    []Row
	Note    string // a paragraph under it; empty: none
}

// Row is a row of a Table.
type Row struct {
	Cells []string
	Tone  chart.Tone
}

// Finding is a sentence that the run confirms or contradicts.
type Finding struct {
	Source   string `json:"source"`   // whose sentence it is: article 000, article 003, article 004 or pgidem
	Claim    string `json:"claim"`    // such as: REPEATABLE READ does not help.
	Measured string `json:"measured"` // what this run says to it, such as: 8 charges in each of 3 trials
	Holds    bool   `json:"holds"`
	// Must marks what logic decides and not speed: where it does not hold, the experiment has failed. Of the rest the report
	// says whether this run agrees.
	Must bool `json:"must"`
}

// Check reports the first chart that cannot be drawn, or row that does not fit its table.
func (s Section) Check() error {
	for _, c := range s.Charts {
		if _, err := c.SVG(); err != nil {
			return err
		}
	}
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			if len(r.Cells) != len(t.Columns) {
				return fmt.Errorf("table %q: row %q has %d cells and the table %d columns", t.Title, r.Cells, len(r.Cells), len(t.Columns))
			}
		}
	}
	return nil
}

// Failed are the findings that must hold and do not.
func (s Section) Failed() []Finding {
	var failed []Finding
	for _, f := range s.Findings {
		if f.Must && !f.Holds {
			failed = append(failed, f)
		}
	}
	return failed
}
