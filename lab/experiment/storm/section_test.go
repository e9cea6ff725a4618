package storm

import (
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

func TestSectionPutsTheArticlesFiguresBesideTheOnesMeasured(t *testing.T) {
	s := sound().Section()
	if s.Name != "storm" || len(s.Charts) != 3 || len(s.Tables) != 3 || len(s.Skipped) != 0 {
		t.Fatalf("%+v", s)
	}
	want := []string{
		"no key|40|4,000|301 (300–301)|3,881|0",
		"check-then-act|8 (7–9)|216|901 (900–901)|10,255|0",
		"Store.Do|0|–|601 (600–601)|–|0",
	}
	var rows []string
	for _, r := range s.Tables[0].Rows {
		rows = append(rows, strings.Join(r.Cells, "|"))
	}
	for _, row := range want {
		if !strings.Contains(strings.Join(rows, "\n"), row) {
			t.Errorf("no %q in\n%s", row, strings.Join(rows, "\n"))
		}
	}
	for i, tone := range []chart.Tone{chart.Bad, chart.Bad, chart.Good, chart.Good, chart.Good, chart.Good, chart.Good} {
		if got := s.Tables[0].Rows[i].Tone; got != tone {
			t.Errorf("row %d is %q, want %q", i+1, got, tone)
		}
	}
	var slow []string
	for _, r := range s.Tables[1].Rows {
		slow = append(slow, strings.Join(r.Cells, "|"))
	}
	if got := strings.Join(slow, "\n"); got != "1ms|2|0|0\n2ms|5|0|0" {
		t.Errorf("slow processors:\n%s", got)
	}
	if got := s.Tables[2].Rows; len(got) != 4 || got[3].Cells[4] != "8 (7–9)" || got[0].Cells[4] != "0" {
		t.Errorf("%+v", got)
	}
	var text strings.Builder
	if err := (report.Text{Section: s}).Write(&text); err != nil || !strings.Contains(text.String(), "check-then-act") {
		t.Errorf("%v\n%s", err, &text)
	}
}

func TestArticlesMarksStandOnlyBesideItsOwnStorm(t *testing.T) {
	r := sound()
	for _, c := range []struct {
		keys, copies, workers int
		want                  float64
	}{{1000, 5, 100, 216}, {999, 5, 100, 0}, {1000, 4, 100, 0}, {1000, 5, 99, 0}} {
		r.Keys, r.Copies, r.Workers = c.keys, c.copies, c.workers
		if got := r.duplicatesChart().Bars[1].Article; got != c.want {
			t.Errorf("%+v: the mark is at %v", c, got)
		}
	}
	r.Keys, r.Copies, r.Workers = 1000, 5, 100
	if got := r.speedChart().Bars[1].Article; got != 10255 {
		t.Errorf("the mark is at %v, want 10255", got)
	}
	r.DelaySeconds = 0.01
	if got := r.speedChart().Bars[1].Article; got != 0 {
		t.Errorf("the mark is at %v", got)
	}
}

func TestWithoutRedisItsRowSaysSoAndNothingFails(t *testing.T) {
	const why = "skipped: no redis-server"
	r := sound()
	r.Rows[4] = Row{Design: redisLock, Article: &Article{0, 12637}, Skipped: why}
	s := r.Section()
	if len(s.Skipped) != 1 || s.Skipped[0] != "Redis SET NX: "+why || len(s.Failed()) != 0 {
		t.Errorf("skipped %q, failed %+v", s.Skipped, s.Failed())
	}
	if row := s.Tables[0].Rows[4]; row.Tone != chart.Skipped || row.Cells[1] != why || row.Cells[2] != "0" {
		t.Errorf("%+v", row)
	}
	if bar := r.speedChart().Bars[4]; bar.Tone != chart.Skipped || bar.Text != why {
		t.Errorf("%+v", bar)
	}
	for _, f := range s.Findings {
		if strings.Contains(f.Measured, redisLock) || f.Measured == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestChartOfSlowProcessorsHasOurLinesAtZero(t *testing.T) {
	c := sound().slowChart()
	if len(c.Lines) != 3 || !c.LogX || c.LogY {
		t.Fatalf("%+v", c)
	}
	bad := c.Lines[0]
	if bad.Tone != chart.Bad || bad.Points[0] != (chart.Point{X: 1, Y: 2}) || bad.Points[1] != (chart.Point{X: 2, Y: 5}) {
		t.Errorf("%+v", bad)
	}
	for _, ours := range c.Lines[1:] {
		if ours.Tone != chart.Good || ours.Points[1].Y != 0 {
			t.Errorf("%+v", ours)
		}
	}
}
