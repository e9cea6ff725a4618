package bench

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

func cells(t report.Table) string {
	var rows []string
	for _, r := range t.Rows {
		rows = append(rows, strings.Join(r.Cells, "|"))
	}
	return strings.Join(rows, "\n")
}

func TestSectionSetsArmsBesideRedisAndTheFloor(t *testing.T) {
	s := sound().Section()
	if err := s.Check(); err != nil || s.Name != "bench" || len(s.Charts) != 3 || len(s.Tables) != 5 || len(s.Skipped) != 0 {
		t.Fatalf("%v %+v", err, s)
	}
	for i, rows := range []string{
		"arm hold|7,875 (7,500–8,250)|1.07|0.83",
		"arm replay-hold|16,800 (16,000–17,600)|1.60|1.00",
		"Store.Do|1.0|82.0",
		"claim-complete|2.00|24.00|0.00|0.00|899|100.0 %|39|2,097,152",
		"Store.Hold, replay|0.00|0.00|0.00|0.00|0|–",
	} {
		if got := cells(s.Tables[i]); !strings.Contains(got, rows) {
			t.Errorf("no %q in\n%s", rows, got)
		}
	}
	if got := s.Tables[0].Columns; got[2] != "times arm redis" || got[3] != "times arm bare" {
		t.Errorf("columns %q", got)
	}
	if got := s.Tables[2].Columns; got[1] != "0 ms" || got[2] != "25 ms" {
		t.Errorf("columns %q", got)
	}
	lines := s.Charts[2].(chart.Lines)
	if len(lines.Lines) != 1 || lines.Lines[0].Points[1] != (chart.Point{X: 25, Y: 82}) {
		t.Errorf("%+v", lines)
	}
	var text strings.Builder
	if err := (report.Text{Section: s}).Write(&text); err != nil || !strings.Contains(text.String(), "2 connections to PostgreSQL") {
		t.Errorf("%v\n%s", err, &text)
	}
}

func TestProductsArmsAreGreenAndSkippedOnesSaySo(t *testing.T) {
	for _, c := range []struct {
		row  Row
		tone chart.Tone
	}{{Row{}, chart.Plain}, {Row{Ours: true}, chart.Good}, {Row{Ours: true, Skipped: "no Redis"}, chart.Skipped}} {
		if got := c.row.tone(); got != c.tone {
			t.Errorf("%+v is %q, want %q", c.row, got, c.tone)
		}
	}
	r := &Result{Workers: 2, Rows: []Row{{Arm: redisClaim, Name: "Redis", Skipped: "skipped: no redis-server"}}}
	s := r.Section()
	if len(s.Skipped) != 1 || cells(s.Tables[0]) != "Redis|skipped: no redis-server|–|–" || s.Check() != nil {
		t.Errorf("%+v", s)
	}
}
