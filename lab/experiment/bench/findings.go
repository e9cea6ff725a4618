package bench

import (
	"fmt"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
)

// findings are the targets of issue 7, none of which decides whether the run has failed, and before them what logic decides.
func (r *Result) findings() []report.Finding {
	all := []report.Finding{r.everyCallIsAnswered()}
	for _, t := range r.Ratios {
		all = append(all, target(t.Claim, t.Times.Decimal()+" times", t.Times.Median >= t.AtLeast))
	}
	all = append(all, r.delayFindings()...)
	return append(all, r.countFindings()...)
}

// target is a finding about a target of issue 7.
func target(claim, measured string, holds bool) report.Finding {
	return report.Finding{Source: source, Claim: claim + " (Target of issue 7.)", Measured: measured, Holds: holds}
}

// source is the Source of what the product promises, and of what it is to reach.
const source = "pgidem"

// everyCallIsAnswered is what the speeds rest on.
func (r *Result) everyCallIsAnswered() report.Finding {
	var problems []string
	calls := 0
	for _, row := range r.Rows {
		for _, t := range row.Trials {
			calls += t.Calls
			if t.Failed > 0 {
				problems = append(problems, fmt.Sprintf("%s: %d calls failed, the first with %s", row.Arm, t.Failed, t.FirstFailure))
			}
			if t.Charges != t.ChargesWanted || t.KeysCharged != t.ChargesWanted {
				problems = append(problems, fmt.Sprintf("%s: %d charges for %d keys; want one for each of %d",
					row.Arm, t.Charges, t.KeysCharged, t.ChargesWanted))
			}
		}
	}
	f := report.Finding{
		Source: source, Must: true, Holds: len(problems) == 0,
		Claim:    "Every call of every arm gets the first caller's answer, and no key is charged twice.",
		Measured: report.Number(calls) + " calls that were timed",
	}
	if !f.Holds {
		f.Measured = strings.Join(problems, "; ")
	}
	return f
}

// delayFindings hold atomic mode against what its round trips must take.
func (r *Result) delayFindings() []report.Finding {
	for _, d := range r.Delays {
		if d.Arm != do || len(d.Calls) == 0 {
			continue
		}
		far := d.Calls[len(d.Calls)-1]
		if far.DelaySeconds == 0 {
			return nil
		}
		const ownTrips = 1 // of the charge
		most := (2 + ownTrips) * far.DelaySeconds * 1.1
		return []report.Finding{target(
			fmt.Sprintf("With %s ms of delay the p50 of atomic mode is under two delays, the caller's own round trip and a tenth: %s ms.",
				milliseconds(far.DelaySeconds), milliseconds(most)),
			milliseconds(far.Seconds.Median)+" ms", far.Seconds.Median < most,
		)}
	}
	return nil
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.4g", seconds*1000) }
