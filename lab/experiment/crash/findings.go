package crash

import (
	"fmt"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
)

// findings says of each row whether the crashes confirm what is claimed of it, and what the rows say together.
func (c *Result) findings() []report.Finding {
	var all []report.Finding
	for _, r := range c.Rows {
		if r.Skipped != "" {
			continue
		}
		problems := c.problems(r)
		f := report.Finding{Source: "article 003", Claim: r.claim, Measured: r.measured(), Holds: len(problems) == 0, Must: true}
		if r.Ours {
			f.Source = "pgidem"
		}
		if !f.Holds {
			f.Measured = strings.Join(problems, "; ")
		}
		all = append(all, f)
	}
	return append(all, c.asking()...)
}

func (r Row) measured() string {
	text := fmt.Sprintf("%s charges, %s of them duplicates, after %s crashes", report.Number(r.Charges), report.Number(r.Duplicates),
		report.Number(r.Kills))
	if r.Operator {
		text += fmt.Sprintf("; %s keys listed and settled", report.Number(r.Unresolved))
	}
	return text
}

// problems says what in a row is not as it must be; empty: the row shows what it is for.
func (c *Result) problems(r Row) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	least, most := 0, 0 // keys that are left to an operator
	if r.Operator {
		least, most = c.Kills, c.Kills+r.Failed // an error leaves its key unknown, as a crash does
	}
	if r.Kills != c.Kills {
		say("workers killed: %d, and there were to be %d", r.Kills, c.Kills)
	}
	if r.Once && r.Duplicates > 0 {
		say("duplicate charges: %d, and it promises none", r.Duplicates)
	}
	if !r.Once && r.Duplicates != c.Kills {
		say("duplicate charges: %d, and each of the %d crashes was to bring one: the test has not hit where it aims",
			r.Duplicates, c.Kills)
	}
	if r.Missing > 0 {
		say("payments that were never charged: %d", r.Missing)
	}
	if r.Answered != c.Keys {
		say("payments that were answered: %d of %d", r.Answered, c.Keys)
	}
	if r.Unresolved < least || r.Unresolved > most {
		say("keys that are left to an operator: %d, and there were to be %d", r.Unresolved, least)
	}
	return all
}

// asking is what article 004 says of asking the processor, which the product's rows with late calls put to the test.
func (c *Result) asking() []report.Finding {
	var reported, denied *Row
	for i := range c.Rows {
		switch c.Rows[i].Design {
		case lateReported:
			reported = &c.Rows[i]
		case lateDenied:
			denied = &c.Rows[i]
		}
	}
	if reported == nil || denied == nil {
		return nil
	}
	return []report.Finding{{
		Source: "article 004",
		Claim:  "What the processor says under the key is authoritative instead of a guess: a charge exists under it or it doesn't.",
		Measured: fmt.Sprintf("asked while a call was on its way, a processor that reports it brought %s second charges; one that "+
			"denies it, and repeats a key, %s", report.Number(reported.Duplicates), report.Number(denied.Duplicates)),
		Holds: reported.Duplicates == 0 && denied.Duplicates == 0,
	}}
}
