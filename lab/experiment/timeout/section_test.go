package timeout

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

func TestSectionShowsEveryPart(t *testing.T) {
	t.Parallel()
	s := asExpected().Section()
	if len(s.Charts) != 5 || len(s.Tables) != 5 || len(s.Findings) != 15 || len(s.Failed()) != 0 {
		t.Fatalf("%d charts, %d tables, %d findings, %d failed", len(s.Charts), len(s.Tables), len(s.Findings), len(s.Failed()))
	}
	for i, want := range []int{3, 5, 8, 3, 3} {
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
		"a new key for each try", "$1,470.00", "16 × 409", "20 of 20", "12.3 ms", "Transport, MaxAge 71 h", "told: bought",
		"stores every answer", "declines 5 cards", "503 to the first call of 5",
	} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("no %q in:\n%s", text, &b)
		}
	}
	if strings.Contains(b.String(), "%!") {
		t.Errorf("a figure is not written as it should be:\n%s", &b)
	}
}

func TestChartsShowWhereAServerStopsToServe(t *testing.T) {
	t.Parallel()
	s := asExpected().Section()
	lines := s.Charts[2].(chart.Lines).Lines
	waiting := []chart.Point{{X: 0, Y: 100}, {X: 4, Y: 100}, {X: 7, Y: 0}, {X: 16, Y: 0}}
	told := []chart.Point{{X: 0, Y: 100}, {X: 4, Y: 100}, {X: 7, Y: 100}, {X: 16, Y: 100}}
	if !slices.Equal(lines[0].Points, waiting) || !slices.Equal(lines[1].Points, told) {
		t.Errorf("%+v", lines)
	}
}

func TestChartsShowWhenAKeyIsLost(t *testing.T) {
	t.Parallel()
	s := asExpected().Section()
	lines := s.Charts[3].(chart.Lines).Lines
	day := []chart.Point{{X: 23, Y: 0}, {X: 25, Y: 100}, {X: 71, Y: 100}, {X: 73, Y: 100}}
	three := []chart.Point{{X: 23, Y: 0}, {X: 25, Y: 0}, {X: 71, Y: 0}, {X: 73, Y: 100}}
	if !slices.Equal(lines[0].Points, day) || !slices.Equal(lines[1].Points, three) {
		t.Errorf("%+v", lines)
	}
}

func TestRowsAreRedWhereMoneyIsLost(t *testing.T) {
	t.Parallel()
	s := asExpected().Section()
	for i, want := range []chart.Tone{chart.Bad, chart.Bad, chart.Good} {
		if got := s.Tables[0].Rows[i].Tone; got != want {
			t.Errorf("night %d is %q, want %q", i+1, got, want)
		}
		if got := s.Tables[4].Rows[i].Tone; got != want {
			t.Errorf("verdict %d is %q, want %q", i+1, got, want)
		}
	}
}
