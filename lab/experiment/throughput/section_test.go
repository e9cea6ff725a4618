package throughput

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

func TestSectionSaysHowFastEachIsAndHowTheyCompare(t *testing.T) {
	s := sound().Section()
	if s.Name != "throughput" || len(s.Charts) != 2 || len(s.Tables) != 2 || len(s.Skipped) != 0 {
		t.Fatalf("%+v", s)
	}
	for _, row := range []string{
		"no key|9,450 (9,000–9,900)|–|1.19 (1.18–1.20)|3.57 (3.54–3.60)",
		"Redis SET NX|7,950 (7,500–8,400)|8,837|1.00|3.00",
		"Postgres claim|2,650 (2,500–2,800)|2,993|0.33|1.00",
		"Store.Do|3,100 (3,000–3,200)|–|0.39 (0.38–0.40)|1.17 (1.14–1.20)",
	} {
		if !strings.Contains(cells(s.Tables[0]), row) {
			t.Errorf("no %q in\n%s", row, cells(s.Tables[0]))
		}
	}
	if row := "Store.Do|5|20|× 0.25|20|20"; !strings.Contains(cells(s.Tables[1]), row) {
		t.Errorf("no %q in\n%s", row, cells(s.Tables[1]))
	}
	for i, tone := range []chart.Tone{chart.Plain, chart.Plain, chart.Plain, chart.Plain, chart.Good, chart.Good} {
		if got := s.Tables[0].Rows[i].Tone; got != tone {
			t.Errorf("row %d is %q, want %q", i+1, got, tone)
		}
	}
	var text strings.Builder
	if err := (report.Text{Section: s}).Write(&text); err != nil || !strings.Contains(text.String(), "over 4 connections") {
		t.Errorf("%v\n%s", err, &text)
	}
}

func TestArticlesMarksStandOnlyBesideItsOwnLoad(t *testing.T) {
	r := sound()
	for _, c := range []struct {
		keys, workers int
		want          float64
	}{{4000, 64, 8837}, {3999, 64, 0}, {4000, 63, 0}} {
		r.Keys, r.Workers = c.keys, c.workers
		if got := r.speedChart().Bars[1].Article; got != c.want {
			t.Errorf("%+v: the mark is at %v", c, got)
		}
	}
}

func TestWithoutRedisItsRowSaysSoAndNothingFails(t *testing.T) {
	const why = "skipped: no redis-server"
	r := sound()
	r.Rows[1] = Row{Design: redisLock, Article: 8837, Skipped: why}
	for i := range r.Rows {
		r.Rows[i].TimesRedis, r.Rows[i].TimesClaim = nil, nil
	}
	compare(r.Rows)
	s := r.Section()
	if len(s.Skipped) != 1 || s.Skipped[0] != "Redis SET NX: "+why || len(s.Failed()) != 0 || len(s.Findings) != 10 {
		t.Errorf("skipped %q, failed %+v, %d findings", s.Skipped, s.Failed(), len(s.Findings))
	}
	if got := cells(s.Tables[0]); !strings.Contains(got, "Redis SET NX|"+why+"|8,837|–|–") ||
		!strings.Contains(got, "Postgres claim|2,650 (2,500–2,800)|2,993|–|1.00") {
		t.Errorf("rows:\n%s", got)
	}
	if bar := r.speedChart().Bars[1]; bar.Tone != chart.Skipped || bar.Text != why {
		t.Errorf("%+v", bar)
	}
}

func TestHotKeysAreDrawnBesideDistinctOnes(t *testing.T) {
	c := sound().hotChart()
	if len(c.Bars) != 8 || c.Bars[4].Label != "Store.Do, one key" || c.Bars[4].Value != 5 || c.Bars[5].Value != 20 {
		t.Errorf("%+v", c.Bars)
	}
}
