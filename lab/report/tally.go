package report

import (
	"fmt"
	"strings"

	"github.com/pgidem/pgidem/lab/report/chart"
)

// Verdict says whether a Finding holds.
type Verdict string

const (
	Holds   Verdict = "holds"
	NotHere Verdict = "not here" // speed or a count that came out otherwise in this run
	Fails   Verdict = "FAILS"    // what logic decides
)

// Verdict is the finding's.
func (f Finding) Verdict() Verdict {
	switch {
	case f.Holds:
		return Holds
	case f.Must:
		return Fails
	}
	return NotHere
}

// String is the finding in a line.
func (f Finding) String() string { return f.Source + ": " + f.Claim + " Measured: " + f.Measured }

// tone is how a Verdict is coloured.
func (v Verdict) tone() chart.Tone {
	switch v {
	case Holds:
		return chart.Good
	case Fails:
		return chart.Bad
	}
	return chart.Plain
}

// Tally counts verdicts, and what was left out.
type Tally struct{ Holds, NotHere, Fails, Skipped int }

// Tally counts the section's.
func (s Section) Tally() Tally {
	t := Tally{Skipped: len(s.Skipped)}
	for _, f := range s.Findings {
		switch f.Verdict() {
		case Holds:
			t.Holds++
		case NotHere:
			t.NotHere++
		case Fails:
			t.Fails++
		}
	}
	return t
}

// Add is the sum of both.
func (t Tally) Add(u Tally) Tally {
	return Tally{t.Holds + u.Holds, t.NotHere + u.NotHere, t.Fails + u.Fails, t.Skipped + u.Skipped}
}

// String says it in words, such as: 7 hold, 1 not here, 1 skipped.
func (t Tally) String() string {
	words := []string{fmt.Sprintf("%d hold", t.Holds)}
	if t.Holds == 1 {
		words[0] = "1 holds"
	}
	for _, c := range []struct {
		n    int
		word string
	}{{t.NotHere, "not here"}, {t.Fails, string(Fails)}, {t.Skipped, "skipped"}} {
		if c.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	return strings.Join(words, ", ")
}
