package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/reporttest"
)

func TestSummaryHasARowAChapter(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := (report.Summary{Page: reporttest.Page()}).Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `  experiment  hold  not here  FAIL  skipped        time
  race           2         0     0        0       4.1 s
  storm          1         1     1        1        38 s
  timeout        1         0     0        0  1 min 11 s
  failover       -         -     -        -       1.0 s

Where this run contradicts an article:
  not here  storm, article 003: Check-then-act was the fastest design on
            PostgreSQL. Measured: 7,012 requests a second, and 8,020 with no key

Where this run contradicts what pgidem says:
  FAILS     storm, pgidem: Every caller gets the same answer. Measured: 3
            payments whose answers name two charges
`
	if b.String() != want {
		t.Errorf("it says:\n%s", &b)
	}
}

func TestMarkdownHoldsTablesFindingsAndCommands(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := (report.Markdown{Page: reporttest.Page(), Report: "lab/report.html"}).Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"[lab/report.html](lab/report.html)", "Processor A processor with a long name", "Commit 35216cb3a1f0, with changes",
		"4 hold, 1 not here, 1 FAILS, 1 skipped",
		"### A thousand payments, five times each\n",
		"```sh\ngo -C lab run ./cmd/lab storm\n```\n",
		"| design | charges | duplicates |",
		"|---|---:|---:|",
		"| check-then-act | 1,411 | 411 |",
		"- **not here** article 003: Check-then-act was the fastest design on PostgreSQL. Measured: 7,012 requests a second",
		"- **FAILS** pgidem: Every caller gets the same answer.",
		"- **skipped** Redis SET NX: no redis-server",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %q in:\n%s", part, &b)
		}
	}
}

func TestMarkdownLetsTextStandForItself(t *testing.T) {
	t.Parallel()
	p := report.Page{Chapters: []report.Chapter{{Section: report.Section{
		Title:  "<b> *and* a_b",
		Tables: []report.Table{{Title: "One", Columns: []string{"a|b"}, Rows: []report.Row{{Cells: []string{"`c`"}}}}},
	}}}}
	var b strings.Builder
	if err := (report.Markdown{Page: p}).Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`### &lt;b> \*and\* a\_b`, `| a\|b |`, "| \\`c\\` |"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %q in:\n%s", part, &b)
		}
	}
}

func TestTimesAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0.0 s", 4100 * time.Millisecond: "4.1 s", 38 * time.Second: "38 s",
		59700 * time.Millisecond: "1 min 0 s", 725 * time.Second: "12 min 5 s",
	} {
		if got := report.Took(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
