package keys

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report/chart"
)

func TestSection(t *testing.T) {
	t.Parallel()
	s := measured().Section()
	for _, text := range []string{"100,000 keys of either kind", "50,000 in a transaction", "shared_buffers of 1.0 MB",
		"more than 4 times", "1,000 payments of either kind", "from 8 workers"} {
		if !strings.Contains(s.Lead, text) {
			t.Errorf("no %q in:\n%s", text, s.Lead)
		}
	}
	for i, want := range [][]string{
		{"UUIDv4", "25,000", "8.0 MB", "600 B", "40", "600", "4.0"},
		{"UUIDv4", "25,000", "8.0 MB", "600 B", "40", "600", "4.0"},
		{"UUIDv4", "1,000", "2,000", "1,000", "0", "1,000", "1,000", "900", "1,200"},
	} {
		if got := s.Tables[i].Rows[0].Cells; !slices.Equal(got, want) || len(got) != len(s.Tables[i].Columns) {
			t.Errorf("%s: %q under %q, want %q", s.Tables[i].Title, got, s.Tables[i].Columns, want)
		}
	}
	for _, text := range []string{"after each 50,000 rows", "003 refers to names 22 times for 11 million rows"} {
		if note := s.Tables[1].Note; !strings.Contains(note, text) {
			t.Errorf("no %q in the conditions: %s", text, note)
		}
	}
}

func TestPaymentsThatWereChargedTwiceAreRed(t *testing.T) {
	t.Parallel()
	r := measured()
	r.Payments[1].Charges++
	rows := r.paid().Rows
	if rows[0].Tone != chart.Good || rows[1].Tone != chart.Bad {
		t.Errorf("%+v", rows)
	}
}

func TestChartsFollowTheIndexAsItGrows(t *testing.T) {
	t.Parallel()
	charts := measured().Section().Charts
	lines := charts[0].(chart.Lines).Lines
	if len(lines) != 4 || lines[0].Label != "UUIDv4, article 003's table" {
		t.Fatalf("%+v", lines)
	}
	if want := []chart.Point{{X: 50, Y: 50_000}, {X: 100, Y: 50_000.0 / 3}}; !slices.Equal(lines[0].Points, want) {
		t.Errorf("points %v, want %v", lines[0].Points, want)
	}
	for i, want := range []chart.Bar{
		{Label: "UUIDv7, article 003's table", Value: 300, Text: "300"},
		{Label: "UUIDv7, article 003's table", Value: 6, Text: "6.0"},
	} {
		if got := charts[i+1].(chart.Bars).Bars[1]; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
