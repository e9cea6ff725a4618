package webhook

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

func TestSectionShowsEveryRow(t *testing.T) {
	s := asExpected().Section()
	if len(s.Charts) != 2 || len(s.Tables) != 3 || len(s.Findings) != 14 || len(s.Failed()) != 0 {
		t.Fatalf("%d charts, %d tables, %d findings, %d failed", len(s.Charts), len(s.Tables), len(s.Findings), len(s.Failed()))
	}
	for i, want := range []int{6, 3, 6} {
		if got := len(s.Tables[i].Rows); got != want {
			t.Errorf("table %d has %d rows, want %d", i+1, got, want)
		}
		for _, row := range s.Tables[i].Rows {
			if len(row.Cells) != len(s.Tables[i].Columns) {
				t.Errorf("row %q has %d cells for %d columns", row.Cells, len(row.Cells), len(s.Tables[i].Columns))
			}
		}
	}
	var b strings.Builder
	if err := (report.Text{Section: s}).Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"SELECT first         payment id", "no ledger            –           unique", "0.20 ms", "$490.00", "pgidem Store.Hold",
	} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("no %q in:\n%s", text, &b)
		}
	}
}

func TestRowsAreRedWhereAnEventIsLostOrFulfilledAgain(t *testing.T) {
	s := asExpected().Section()
	for i, want := range []chart.Tone{chart.Bad, chart.Bad, chart.Good, chart.Good, chart.Good, chart.Good} {
		if got := s.Tables[0].Rows[i].Tone; got != want {
			t.Errorf("%s is %q, want %q", s.Tables[0].Rows[i].Cells[0], got, want)
		}
	}
	bars := s.Charts[0].(chart.Bars).Bars
	if bars[0].Value != 19 || bars[0].Text != "10 never, 9 again" || bars[0].Tone != chart.Bad || bars[5].Value != 0 ||
		bars[4].Label != "claim with the work, by event id, unique index" {
		t.Errorf("%+v", bars)
	}
	lost := s.Charts[1].(chart.Bars).Bars
	if lost[0].Value != 10 || lost[0].Text != "10, $490.00" || lost[1].Tone != chart.Good {
		t.Errorf("%+v", lost)
	}
}
