package cleanup

import (
	"fmt"
	"slices"

	"github.com/pgidem/pgidem/lab/report"
)

const (
	article = "article 000"
	ours    = "pgidem"
)

// findings are the article's sentences and the product's promises, each with what this run says to it.
func (r *Result) findings() []report.Finding {
	return slices.Concat(r.reasons(), r.cures(), r.product(), r.vanishing())
}

// reasons are why the clean-up does nothing.
func (r *Result) reasons() []report.Finding {
	aborted, healthy, allowed := r.of(insideSQL, faultReceipt), r.of(insideHealthy, faultMail), r.of(insideAllowed, faultMail)
	work, update := stepOf(aborted.Steps, workStep), stepOf(aborted.Steps, cleanupStep)
	refused := stepOf(healthy.Steps, cleanupStep)
	landed, after := stepOf(allowed.Steps, cleanupStep), stepOf(allowed.Steps, selectStep)
	return []report.Finding{
		{
			Source: article, Must: true,
			Claim:    "PostgreSQL poisons the whole transaction after any error, so the clean-up's UPDATE never executes: 25P02.",
			Measured: fmt.Sprintf("the work got %s, the UPDATE %s.", work, update),
			Holds:    work == "23505" && update == "25P02",
		},
		{
			Source: article, Must: true,
			Claim:    "On a healthy transaction it would not have executed either: failed is not a value that the CHECK allows, so 23514.",
			Measured: fmt.Sprintf("the UPDATE got %s.", refused),
			Holds:    refused == "23514",
		},
		{
			Source: article, Must: true,
			Claim:    "Even if the write had landed, the ROLLBACK on the next line would have undone it.",
			Measured: fmt.Sprintf("with a CHECK that knows failed the UPDATE changed %s, and the next request read %s.", landed, after),
			Holds:    landed == "1 row" && after == "in_progress",
		},
		{
			Source: article, Must: true,
			Claim: "The row stays in_progress for ever, every retry is told that somebody is at work, and the key is dead.",
			Measured: fmt.Sprintf("dead a year later: %d of %d after the 25P02, %d of %d after the 23514, %d of %d after the ROLLBACK.",
				aborted.Dead, aborted.Keys, healthy.Dead, healthy.Keys, allowed.Dead, allowed.Keys),
			Holds: aborted.dead() && healthy.dead() && allowed.dead(),
		},
	}
}

// cures are what the article advises, and where the advice ends.
func (r *Result) cures() []report.Finding {
	fresh, gone, tx := r.of(marked, faultReceipt), r.of(deleted, faultReceipt), r.of(together, faultReceipt)
	died, reclaimed, again := r.of(deleted, faultKilled), r.of(swept, faultKilled), r.of(deleted, faultLost)
	return []report.Finding{
		{
			Source: article, Must: true,
			Claim:    "Mark failure outside the failed transaction, on a fresh one.",
			Measured: fresh.measured() + ", once the claim takes a key that is marked.",
			Holds:    fresh.retryCharges(),
		},
		{
			Source: article, Must: true,
			Claim:    "Better still, delete the claim's row so that a retry can take it cleanly.",
			Measured: gone.measured() + ".",
			Holds:    gone.retryCharges(),
		},
		{
			Source: article, Must: true,
			Claim: "A created_at sweeper reclaims rows whose process died without deleting anything.",
			Measured: fmt.Sprintf("without one %d of %d keys were dead; with one %d were charged once the sweeper had come.",
				died.Dead, died.Keys, reclaimed.told(aLeaseLater, charged.String())),
			Holds: died.dead() && reclaimed.all(reclaimed.told(aLeaseLater, charged.String())) && reclaimed.once(),
		},
		{
			Source: ours, Must: true,
			Claim: "That line leaves a key dead only where the claim was committed before: with the claim in the " +
				"work's own transaction, as in the article's handler, the ROLLBACK frees the key.",
			Measured: fmt.Sprintf("the UPDATE got %s, and then %s.", stepOf(tx.Steps, cleanupStep), tx.measured()),
			Holds:    stepOf(tx.Steps, cleanupStep) == "25P02" && tx.retryCharges(),
		},
		{
			Source: ours, Must: true,
			Claim: "Deleting the claim is right only where nothing happened: where a processor's answer was lost, the " +
				"retry charges again.",
			Measured: again.measured() + ".",
			Holds:    again.all(again.ChargedTwice),
		},
	}
}

func (r *Result) product() []report.Finding {
	atomic, cleaning, transient := r.of(do, faultReceipt), r.of(doCleaningUp, faultReceipt), r.of(holdTransient, faultReach)
	unsure, died := r.of(holdRefuse, faultLost), r.of(holdRefuse, faultKilled)
	again, after := r.of(holdRerun, faultLost), r.of(holdRerun, faultKilled)
	named, busy := unsure.told(atOnce, outcomeUnknown.String()), died.told(atOnce, inFlight.String())
	lapsed := died.told(aLeaseLater, outcomeUnknown.String())
	return []report.Finding{
		{
			Source: ours, Must: true,
			Claim: "Store.Do leaves no key behind when its work fails, and the retry charges, also with the article's " +
				"clean-up in the work.",
			Measured: fmt.Sprintf("%s; with the clean-up: %s.", atomic.measured(), cleaning.measured()),
			Holds:    atomic.retryCharges() && cleaning.retryCharges(),
		},
		{
			Source: ours, Must: true,
			Claim:    "Store.Hold gives a key back at once when its work says that nothing happened.",
			Measured: transient.measured() + ".",
			Holds:    transient.retryCharges(),
		},
		{
			Source: ours, Must: true,
			Claim: "Where the outcome is unknown, Store.Hold says so, at once or when a dead process's lease has " +
				"passed, and lists the key; an operator's word ends it.",
			Measured: fmt.Sprintf("outcome-unknown at the retry: %d of %d; of killed processes: %d of %d in flight at the "+
				"retry, %d outcome-unknown a lease later; an operator had %d and %d listed, and then %d and %d clients had "+
				"their purchase; charged twice: %d.",
				named, unsure.Keys, busy, died.Keys, lapsed, unsure.Listed, died.Listed, unsure.Completed, died.Completed,
				unsure.ChargedTwice+died.ChargedTwice),
			Holds: unsure.all(named) && died.all(busy) && died.all(lapsed) && unsure.all(unsure.Listed) && died.all(died.Listed) &&
				unsure.once() && died.once(),
		},
		{
			Source: ours, Must: true,
			Claim: "Where the processor refuses a repeated key, StaleRerun needs no operator: the retry runs under the " +
				"same downstream key.",
			Measured: fmt.Sprintf("answer lost: %s; process killed: %d of %d charged a lease later, %d charged twice.",
				again.measured(), after.told(aLeaseLater, charged.String()), after.Keys, after.ChargedTwice),
			Holds: again.retryCharges() && after.all(after.told(aLeaseLater, charged.String())) && after.once(),
		},
	}
}

func (r *Result) vanishing() []report.Finding {
	bare, third := r.vanished(unguarded, 0), r.vanished(guarded, tries)
	second := r.vanished(guarded, 1)
	mine := slices.Concat(r.vanished(doLoses, 0), r.vanished(holdLoses, 0))
	return []report.Finding{
		{
			Source: article, Must: true,
			Claim: "A handler that takes the row for granted dies when it was deleted between the failed INSERT and " +
				"the SELECT, by its owner or by a sweeper.",
			Measured: measured(bare),
			Holds:    every(bare, func(v Vanishing) bool { return v.Answer == "500 no rows in result set" && v.Looks == 1 }),
		},
		{
			Source: article, Must: true,
			Claim:    "With its guard the handler claims on attempt 2.",
			Measured: measured(second),
			Holds:    every(second, func(v Vanishing) bool { return v.Answer == charged.String() && v.Looks == 2 && v.Charges == 1 }),
		},
		{
			Source: article, Must: true,
			Claim:    "Falling through all three attempts is 409: the caller comes again, nobody is charged twice, and nothing crashes.",
			Measured: measured(third),
			Holds: every(third, func(v Vanishing) bool {
				return v.Answer == contended.String() && v.Looks == tries && v.Again == charged.String() && v.Charges == 1
			}),
		},
		{
			Source: ours, Must: true,
			Claim: "Store.Do and Store.Hold look three times, whoever deletes the row, idem sweep beside them " +
				"included: they claim at the next look, or answer claim-contended, and charge once.",
			Measured: fmt.Sprintf("%d of %d requests did.", count(mine, looksAgain), len(mine)),
			Holds:    every(mine, looksAgain),
		},
	}
}

// looksAgain is what the product promises.
func looksAgain(v Vanishing) bool {
	if v.Charges != 1 {
		return false
	}
	if v.Times < tries {
		return v.Answer == charged.String() && v.Looks == v.Times+1 && v.Again == replayed.String()
	}
	return v.Answer == claimContended.String() && v.Looks == tries && v.Again == charged.String()
}
