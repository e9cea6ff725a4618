package failover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
)

// sentence is what the article or the product says about some rows. It holds where each rule holds for each row.
type sentence struct {
	source, claim string
	of            []filter // the rows that pass all of them
	says          func(line) string
	rules         []filter
}

// line is a row and where it was measured.
type line struct {
	System
	Row
}

type filter func(line) bool

const article, pgidem = "article 003", "pgidem"

var sentences = []sentence{
	{
		article, "A replica promoted without the latest SET drops a claim.",
		[]filter{on(Redis)}, saysLost, []filter{lateIsLost, settledStays},
	},
	{
		article, "If the side effect is not idempotent by itself, neither store is safe on its own.",
		[]filter{on(Async, Redis), with(Charges), theirs}, saysDuplicates, []filter{chargedAgain},
	},
	{
		article, "If the side effect refuses to repeat a key, either store is safe.",
		[]filter{with(Refuses)}, saysDuplicates, []filter{chargedOnce},
	},
	{
		article, "Where key and charge commit in one transaction, nothing is charged twice.",
		[]filter{with(Here)}, saysDuplicates, []filter{chargedOnce},
	},
	{
		pgidem, "A failover to an asynchronous standby loses claims that were confirmed.",
		[]filter{on(Async)}, saysLost, []filter{lateIsLost, settledStays},
	},
	{
		pgidem, "A failover to a synchronous standby loses none.",
		[]filter{on(Sync)}, saysLost, []filter{nothingIsLost, settledStays},
	},
	{
		pgidem, "Where every commit waits for the standby, a claim that the standby lacks is not confirmed: its caller gets no " +
			"answer, and nothing is charged.",
		[]filter{on(Sync)}, saysWaiting, []filter{lateWaits},
	},
	{
		pgidem, "Without a processor that refuses, each lost claim whose charge had happened is charged again, whatever the policy.",
		[]filter{on(Async, Redis), with(Charges)}, saysLostAgain, []filter{lateIsLost, lostIsChargedAgain},
	},
	{
		pgidem, "With its downstream key, Hold charges once and gives the first answer again, though the claim was lost.",
		[]filter{on(Async), with(Refuses), ours}, saysAnswers, []filter{lateIsLost, chargedOnce, sameAnswer},
	},
	{
		pgidem, "The downstream key of a lost claim is the same when its payment comes again.",
		[]filter{on(Async), with(Charges), ours}, saysKeys, []filter{chargedAgain, oneKeyEach},
	},
	{
		pgidem, "So the processor refuses the second charge of each lost claim, and of each payment that was in hand.",
		[]filter{with(Refuses), ours}, saysRefused, []filter{repeatsAreRefused},
	},
	{
		pgidem, "In a failover that loses no commit, StaleRefuse charges nobody twice at a processor that refuses nothing.",
		[]filter{on(Sync), with(Charges), ours}, saysUnknown, []filter{chargedOnce, inHandIsUnknown},
	},
	{
		pgidem, "A synchronous standby replaces no downstream key: what was in hand is a crash like any other, and a takeover " +
			"charges it again.",
		[]filter{on(Sync), with(Charges), theirs}, saysDuplicates, []filter{inHandIsChargedAgain},
	},
	{
		pgidem, "An asynchronous failover loses key and row of Do together: nothing is charged twice, but orders are gone whose " +
			"customers were told that they stand.",
		[]filter{on(Async), with(Here)}, saysForgotten, []filter{chargedOnce, answeredThenLost},
	},
	{
		pgidem, "A synchronous failover takes no order from a customer who was told that it stands.",
		[]filter{on(Sync), with(Here)}, saysForgotten, []filter{chargedOnce, nothingIsLost, settledStays},
	},
}

// findings are the sentences about rows that were measured, and what idem check is to say.
func (r *Result) findings() []report.Finding {
	var all []report.Finding
	for _, s := range sentences {
		if lines := r.lines(s.of); len(lines) > 0 {
			all = append(all, report.Finding{
				Source: s.source, Claim: s.claim, Measured: s.measured(lines), Must: true,
				Holds: !slices.ContainsFunc(lines, func(l line) bool { return !l.passes(s.rules) }),
			})
		}
	}
	for _, f := range r.Failovers {
		if f.Check != nil {
			all = append(all, f.checkFinding())
		}
	}
	return all
}

// lines are the rows that were measured and pass all filters.
func (r *Result) lines(of []filter) []line {
	var all []line
	for _, f := range r.Failovers {
		for _, row := range f.Rows {
			if l := (line{f.System, row}); f.Skipped == "" && l.passes(of) {
				all = append(all, l)
			}
		}
	}
	return all
}

func (l line) passes(filters []filter) bool {
	return !slices.ContainsFunc(filters, func(f filter) bool { return !f(l) })
}

// measured is what the rows say, each thing once.
func (s sentence) measured(lines []line) string {
	var things []string
	who := map[string][]string{}
	for _, l := range lines {
		thing := s.says(l)
		if who[thing] == nil {
			things = append(things, thing)
		}
		who[thing] = append(who[thing], fmt.Sprintf("%s, %s", l.System, l.Design))
	}
	for i, thing := range things {
		things[i] = fmt.Sprintf("%s (%s)", thing, strings.Join(slices.Compact(who[thing]), "; "))
	}
	return strings.Join(things, ". ")
}

func (f Failover) checkFinding() report.Finding {
	says := func(text string) string {
		if text == "" {
			return "nothing"
		}
		return text
	}
	return report.Finding{
		Source: pgidem, Must: true,
		Claim:    fmt.Sprintf("%s: idem check names the standby, and has nothing against it once it is promoted.", f.System),
		Measured: fmt.Sprintf("before: %s; afterwards: %s", says(f.Check.Standby), says(f.Check.Promoted)),
		Holds:    strings.Contains(f.Check.Standby, "is a standby") && f.Check.Promoted == "",
	}
}
