// Package reporttest has a page of made-up figures, in which everything occurs that a page can show.
package reporttest

import (
	"errors"
	"time"

	"github.com/pgidem/pgidem/lab/machine"
	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/report/chart"
)

// Page is the page. Its figures are nobody's.
func Page() report.Page {
	return report.Page{
		Machine: machine.Machine{
			CPU: "A processor with a long name @ 2.45GHz", Cores: 2, MemoryBytes: 24 << 30,
			OS: "A system 12 (name), Linux 6.1.0-amd64-with-a-long-release", Go: "go1.26.1",
			Commit: "35216cb3a1f04d9c8b7e6f5a4d3c2b1a09f8e7d6", Changed: true,
		},
		PostgreSQL: "15.18",
		Began:      time.Date(2026, 12, 1, 6, 30, 0, 0, time.UTC),
		Took:       12*time.Minute + 5*time.Second,
		Chapters: []report.Chapter{
			{Section: barrier(), Took: 4100 * time.Millisecond},
			{Section: storm(), Took: 38 * time.Second},
			{Section: delays(), Took: 71 * time.Second},
			{Section: report.Section{Name: "failover", Title: "Lose a primary after a claim is confirmed"},
				Took: time.Second, Err: errors.New("start the standby: could not connect to /tmp/pgidem-1234567890/.s.PGSQL.54321")},
		},
	}
}

// barrier has a narrow table, long words, and everything holds.
func barrier() report.Section {
	return report.Section{
		Name: "race", Title: "Eight workers, one key", Articles: "article 000",
		Lead: "Eight workers on connections of their own send one payment of $49.00 under one key, released at the same instant, " +
			"three times for each design.\n\nA naïve handler looks for the key and, when it finds none, charges. It is run under each " +
			"isolation level, and with <FOR UPDATE> & without.",
		Charts: []chart.Chart{chart.Bars{
			Title: "What the customer pays for a course of $49.00", Unit: "charges in the worst of three trials",
			Bars: []chart.Bar{
				{Label: "check-then-insert, READ COMMITTED", Value: 8, Text: "8 × = $392.00", Article: 8, Tone: chart.Bad},
				{Label: "check-then-insert, SERIALIZABLE, with retries by the caller of each transaction that failed", Value: 1,
					Text: "1 × = $49.00", Article: 1, Tone: chart.Good},
				{Label: "pgidem Store.Do", Value: 1, Text: "1 × = $49.00", Tone: chart.Good},
			},
		}},
		Tables: []report.Table{{
			Title: "Charges in each trial", Columns: []string{"design", "charges", "of them 23505"},
			Rows: []report.Row{
				{Cells: []string{"naïve", "8", "0"}, Tone: chart.Bad},
				{Cells: []string{"pgidem", "1", "0"}, Tone: chart.Good},
			},
			Note: "Of eight callers seven are replayed the answer of the first.",
		}},
		Findings: []report.Finding{
			{
				Source: "article 000", Claim: "REPEATABLE READ does not help.", Measured: "8 charges in each of 3 trials",
				Holds: true, Must: true,
			},
			{Source: "pgidem", Claim: "One key is one charge.", Measured: "1 charge in each of 3 trials", Holds: true, Must: true},
		},
	}
}

// storm has a wide table, a skipped row, a claim that did not come out, and one that fails.
func storm() report.Section {
	return report.Section{
		Name: "storm", Title: "A thousand payments, five times each", Articles: "article 003",
		Lead: "1,000 payments are sent five times each, in shuffled order, by 100 workers; a charge takes 20 ms.",
		Charts: []chart.Chart{chart.Bars{
			Title: "Charges for 1,000 payments", Unit: "charges",
			Bars: []chart.Bar{
				{Label: "no key", Value: 5000, Article: 5000, Tone: chart.Bad},
				{Label: "check-then-act", Value: 1411, Low: 1300, High: 1502, Article: 1216, Tone: chart.Bad},
				{Label: "Redis SET NX", Article: 1000, Text: "skipped: no redis-server", Tone: chart.Skipped},
				{Label: "Postgres claim, as the article printed it", Value: 1000, Tone: chart.Article},
				{Label: "pgidem Store.Hold", Value: 1000, Tone: chart.Good},
				{Label: "pgidem Store.Do", Value: 1000, Low: 990, High: 1010},
			},
		}},
		Tables: []report.Table{{
			Title: "5,000 requests that should make 1,000 charges",
			Columns: []string{
				"design", "charges", "duplicates", "replays", "409s", "requests/s", "article 003", "what the last caller was told",
			},
			Rows: []report.Row{
				{Cells: []string{"no key", "5,000", "4,000", "0", "0", "3,100", "4,000", "charged"}, Tone: chart.Bad},
				{
					Cells: []string{"check-then-act", "1,411", "411", "3,589", "0", "7,012", "216", "charged, or replayed as it came"},
					Tone:  chart.Bad,
				},
				{Cells: []string{"Redis SET NX", "skipped: no redis-server", "", "", "", "", "0", ""}, Tone: chart.Skipped},
				{Cells: []string{"pgidem Store.Do", "1,000", "0", "4,000", "0", "2,950", "", "replayed"}, Tone: chart.Good},
				{Cells: []string{"Postgres claim", "1,000", "0", "", "", "6,656", "0", ""}, Tone: chart.Article},
			},
		}},
		Findings: []report.Finding{
			{
				Source: "article 003", Claim: "Check-then-act was the fastest design on PostgreSQL.",
				Measured: "7,012 requests a second, and 8,020 with no key",
			},
			{Source: "article 003", Claim: "A single atomic claim brings the duplicates to zero.", Measured: "0", Holds: true, Must: true},
			{
				Source: "pgidem", Claim: "Every caller gets the same answer.", Measured: "3 payments whose answers name two charges",
				Must: true,
			},
		},
		Skipped: []string{"Redis SET NX: no redis-server"},
	}
}

// delays has lines, on each kind of axis.
func delays() report.Section {
	lines := []chart.Line{
		{
			Label: "check-then-act", Points: []chart.Point{{X: 1, Y: 12}, {X: 5, Y: 80}, {X: 20, Y: 411}, {X: 100, Y: 1930}},
			Tone: chart.Bad,
		},
		{Label: "Postgres claim", Points: []chart.Point{{X: 1, Y: 1}, {X: 5, Y: 1}, {X: 20, Y: 1}, {X: 100, Y: 1}}, Tone: chart.Good},
		{Label: "UUIDv4", Points: []chart.Point{{X: 1, Y: 300}, {X: 5, Y: 200}, {X: 20, Y: 400}, {X: 100, Y: 830}}},
		{Label: "UUIDv7", Points: []chart.Point{{X: 1, Y: 410}, {X: 5, Y: 420}, {X: 20, Y: 440}, {X: 100, Y: 430}}},
	}
	return report.Section{
		Name: "timeout", Title: "A processor that is slower than its clients", Articles: "articles 003 and 004",
		Lead: "The longer a charge takes, the more copies of it overlap.",
		Charts: []chart.Chart{
			chart.Lines{Title: "Duplicates by the processor’s delay", X: "delay in ms", Y: "duplicate charges", LogX: true, Lines: lines},
			chart.Lines{Title: "The same on a logarithmic scale", X: "delay in ms", Y: "duplicate charges", LogY: true, Lines: lines},
		},
		Tables: []report.Table{{
			Title: "Duplicate charges", Columns: []string{"delay", "check-then-act", "Postgres claim"},
			Rows: []report.Row{{Cells: []string{"1 ms", "12", "0"}}, {Cells: []string{"100 ms", "1,930", "0"}}},
		}},
		Findings: []report.Finding{
			{
				Source: "article 003", Claim: "A slower processor makes it worse.", Measured: "12 duplicates at 1 ms, 1,930 at 100 ms",
				Holds: true,
			},
		},
	}
}
