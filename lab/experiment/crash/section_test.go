package crash

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report/chart"
)

func TestSectionShowsTheArticlesTableAndOurs(t *testing.T) {
	t.Parallel()
	s := crashed().Section()
	for _, text := range []string{"100 payments", "8 workers", "On 10 keys", "every 120ms", "after 100ms",
		"a second charge, 10 times of 10", "every payment was answered", "The last row is where that ends"} {
		if !strings.Contains(s.Lead, text) {
			t.Errorf("no %q in:\n%s", text, s.Lead)
		}
	}
	if len(s.Tables) != 2 || len(s.Tables[0].Rows) != 6 || len(s.Tables[1].Rows) != 7 {
		t.Fatalf("%+v, want six rows of the article's and seven of ours", s.Tables)
	}
	if got, want := s.Tables[0].Rows[0].Cells,
		[]string{"Postgres claim, takeover when stale", "110", "10", "0", "100", "2.0", "1,100 / 100"}; !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
	if got, want := s.Tables[1].Rows[5].Cells,
		[]string{"Hold, StaleRefuse, processor can do neither", "100", "0", "10", "100", "2.0"}; !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
	if note := s.Tables[1].Note; !strings.Contains(note, "looked each of the 10 up") {
		t.Errorf("note %q", note)
	}
	for _, table := range s.Tables {
		for _, r := range table.Rows {
			if len(r.Cells) != len(table.Columns) {
				t.Errorf("%d cells under %d columns: %q", len(r.Cells), len(table.Columns), r.Cells)
			}
		}
	}
}

func TestSectionWithAFailureClaimsNothing(t *testing.T) {
	t.Parallel()
	result := crashed()
	result.Rows[1].Duplicates = 1
	s := result.Section()
	if len(s.Failed()) != 1 || strings.Contains(s.Lead, "became none") {
		t.Errorf("failed %+v, and it claims what was not measured:\n%s", s.Failed(), s.Lead)
	}
}

func TestTonesSayWhereMoneyIsLost(t *testing.T) {
	t.Parallel()
	result := crashed()
	s := result.Section()
	bars := s.Charts[0].(chart.Bars).Bars
	for i, r := range append(s.Tables[0].Rows, s.Tables[1].Rows...) {
		want := chart.Bad
		if variants[i].once {
			want = chart.Good
		}
		if r.Tone != want || bars[i].Tone != want {
			t.Errorf("%s: the row is %q and the bar %q, want %q", r.Cells[0], r.Tone, bars[i].Tone, want)
		}
	}
	lost := Row{Once: true, Missing: 1}
	if lost.tone() != chart.Bad {
		t.Errorf("a payment that was lost is %q", lost.tone())
	}
}

func TestChartStandsBesideTheArticles(t *testing.T) {
	t.Parallel()
	result := crashed()
	if bars := result.chart().Bars; bars[0].Article != 0 {
		t.Errorf("the figure of 100 crashes stands beside that of 10: %+v", bars[0])
	}
	result.Kills = 100
	result.Rows[3] = variants[3].row()
	result.Rows[3].Skipped = "skipped: no redis-server"
	bars := result.chart().Bars
	want := []chart.Bar{
		{Label: "Postgres claim, takeover when stale", Value: 10, Text: "10", Article: 100, Tone: chart.Bad},
		{Label: "Postgres transaction, local write", Text: "0", Tone: chart.Good},
		{Label: "Postgres transaction, external call", Value: 10, Text: "10", Article: 100, Tone: chart.Bad},
		{Label: "Redis SET NX, expiry as takeover", Text: "skipped: no redis-server", Article: 100, Tone: chart.Skipped},
	}
	if !slices.Equal(bars[:4], want) {
		t.Errorf("got %+v, want %+v", bars[:4], want)
	}
	ours := chart.Bar{Label: "pgidem: Hold, StaleResolve, late calls not reported", Value: 10, Text: "10", Tone: chart.Bad}
	if bars[12] != ours {
		t.Errorf("%+v, want %+v", bars[12], ours)
	}
}
