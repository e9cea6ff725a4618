package report_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
	"github.com/pgidem/pgidem/lab/report/reporttest"
)

func TestPageNeedsNothingElse(t *testing.T) {
	t.Parallel()
	html := page(t, reporttest.Page())
	for _, needs := range []string{"http:", "https:", "<script", "@import", "url(", `src="`} {
		if strings.Contains(html, needs) {
			t.Errorf("it has %s", needs)
		}
	}
	if !strings.Contains(html, "@media(prefers-color-scheme:dark){:root{--paper:") || strings.Contains(html, "ZgotmplZ") {
		t.Error("its colours are not what the charts take")
	}
}

func TestSummaryLeadsToEveryChapter(t *testing.T) {
	t.Parallel()
	html := page(t, reporttest.Page())
	links := regexp.MustCompile(`href="#([a-z-]+)"`).FindAllStringSubmatch(html, -1)
	for _, link := range links {
		if strings.Count(html, `id="`+link[1]+`"`) != 1 {
			t.Errorf("%s leads nowhere, or to two places", link[1])
		}
	}
	summary := between(t, html, `id="summary"`, "</section>")
	for _, c := range reporttest.Page().Chapters {
		if !strings.Contains(summary, `href="#`+c.Name+`"`) {
			t.Errorf("the summary does not name %s", c.Name)
		}
	}
	for _, text := range []string{
		"<b>4</b> claims hold", ">1</b> came out otherwise here", ">1</b> FAILS", "1 skipped", ">1</b> did not end", ">error</span>",
		"1 not here</span>", "1 FAILS</span>",
		// What contradicts an article, or the product, stands in it in full.
		"Check-then-act was the fastest design on PostgreSQL.", "7,012 requests a second, and 8,020 with no key",
		"Every caller gets the same answer.", "3 payments whose answers name two charges",
	} {
		if !strings.Contains(summary, text) {
			t.Errorf("no %q in the summary:\n%s", text, summary)
		}
	}
	if strings.Contains(summary, "A slower processor makes it worse.") {
		t.Error("it lists a claim that holds among the contradictions")
	}
}

func TestPageOfAgreementSaysSo(t *testing.T) {
	t.Parallel()
	p := reporttest.Page()
	p.Chapters = p.Chapters[:1]
	summary := between(t, page(t, p), `id="summary"`, "</section>")
	if !strings.Contains(summary, "contradicts none of the articles") || strings.Contains(summary, "contradicts an article") ||
		strings.Contains(summary, "what pgidem says") {
		t.Errorf("the summary:\n%s", summary)
	}
}

func TestChapterShowsTheWholeSection(t *testing.T) {
	t.Parallel()
	html := page(t, reporttest.Page())
	race := between(t, html, `id="race"`, "</section>")
	for _, text := range []string{
		"Eight workers, one key", "article 000", "<code>lab race</code>", "with &lt;FOR UPDATE&gt; &amp; without.",
		`<svg class="chart"`, "Charges in each trial", `<table class="narrow"`, "Of eight callers seven",
		"REPEATABLE READ does not help.", ">holds</span>",
	} {
		if !strings.Contains(race, text) {
			t.Errorf("no %q in:\n%s", text, race)
		}
	}
	if got := strings.Count(between(t, race, `class="lead"`, "</div>"), "<p>"); got != 2 {
		t.Errorf("its lead has %d paragraphs, want 2", got)
	}
	storm := between(t, html, `id="storm"`, "</section>")
	for _, text := range []string{
		`<table class="wide"`, `<tr role="row" class="bad"`, "Redis SET NX: no redis-server", ">FAILS</span>", ">not here</span>",
	} {
		if !strings.Contains(storm, text) {
			t.Errorf("no %q in:\n%s", text, storm)
		}
	}
	failover := between(t, html, `id="failover"`, "</section>")
	if !strings.Contains(failover, "It did not end:</b> start the standby") {
		t.Errorf("the error is not there:\n%s", failover)
	}
}

func TestFiguresOfArticlesAreMarked(t *testing.T) {
	t.Parallel()
	storm := between(t, page(t, reporttest.Page()), `id="storm"`, "</section>")
	for _, text := range []string{
		`class="number theirs">article 003</th>`,
		`<td role="cell" data-column="article 003" class="number theirs">216</td>`,
		`<tr role="row" class="article"><th scope="row" role="rowheader">Postgres claim</th>`,
		`<td role="cell" data-column="charges" class="number">1,411</td>`,
	} {
		if !strings.Contains(storm, text) {
			t.Errorf("no %q in:\n%s", text, storm)
		}
	}
}

func TestPageNamesTheMachine(t *testing.T) {
	t.Parallel()
	run := between(t, page(t, reporttest.Page()), `id="run"`, "</section>")
	for _, text := range []string{
		"A processor with a long name @ 2.45GHz", "<dd>2</dd>", "24.0 GiB", "Linux 6.1.0", "go1.26.1", "<dd>15.18</dd>",
		"<dd>not used</dd>",
		"35216cb3a1f0, with changes", "1 December 2026, 06:30 UTC", "12 min 5 s",
	} {
		if !strings.Contains(run, text) {
			t.Errorf("no %q in:\n%s", text, run)
		}
	}
	unknown := between(t, page(t, report.Page{}), `id="run"`, "</section>")
	if !strings.Contains(unknown, "<dd>unknown</dd>") {
		t.Errorf("memory of 0 bytes is not unknown:\n%s", unknown)
	}
}

func TestSectionThatCannotBeShownIsRefused(t *testing.T) {
	t.Parallel()
	if err := reporttest.Page().Chapters[1].Check(); err != nil {
		t.Error(err)
	}
	for _, s := range []report.Section{
		{Charts: []chart.Chart{chart.Lines{Title: "empty"}}},
		{Tables: []report.Table{{Title: "short", Columns: []string{"a", "b"}, Rows: []report.Row{{Cells: []string{"1"}}}}}},
	} {
		if err := s.Check(); err == nil {
			t.Errorf("no error for %+v", s)
		}
	}
}

func page(t *testing.T, p report.Page) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// between is the text from one mark to the next of the other.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, from)
	part, _, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("nothing between %s and %s in:\n%s", from, to, text)
	}
	return part
}
