package race

import (
	"fmt"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/report"
)

// findings are the article's sentences about the race, and the product's.
func (r *Result) findings() []report.Finding {
	// of is a sentence about what one design did in every trial.
	of := func(source, name, claim string, must bool, holds ...func(experiment.Result) bool) report.Finding {
		f := report.Finding{Source: source, Claim: claim, Measured: r.design(name).says(), Holds: true, Must: must}
		for _, h := range holds {
			f.Holds = f.Holds && r.design(name).each(h)
		}
		return f
	}
	const article, pgidem = "article 000", "pgidem"
	all := func(t experiment.Result) bool { return t.Charges == t.Requests }
	return []report.Finding{
		of(article, readCommitted, "Check-then-insert without a unique index charges again, in every trial.", true, again),
		of(article, readCommitted, "Every one of the workers charges, every time.", false, all),
		of(article, lockMissing, "FOR UPDATE on a row that does not exist yet locks nothing.", true, again),
		of(article, lockExisting, "FOR UPDATE works on a row that exists, when it is no longer needed.", true, once, replayed),
		of(article, repeatableRead, "REPEATABLE READ does not help: it finds no conflict.", true, again, answered),
		of(article, serializable, "SERIALIZABLE helps: one charge, and others get a 40001.", true, once, refused("40001")),
		of(article, serializable, "All callers but one get the 40001.", false, allRefused("40001")),
		r.retryLoop(),
		of(article, primaryKey, "A primary key behind the SELECT saves the money, and callers get a raw 23505.", true,
			once, refused("23505")),
		of(article, primaryKey, "All callers but one get the 23505.", false, allRefused("23505")),
		of(article, primaryKeyCaught, "To catch the conflict and replay the stored answer makes it right.", true,
			once, answered, replayed),
		of(article, referee, "With INSERT ON CONFLICT DO NOTHING one caller charges and the others replay.", true,
			once, answered, replayed),
		r.failsLess(),
		r.tracking(),
		r.bystanderPays(),
		of(pgidem, storeDo, "Store.Do charges once and nobody gets an error, though processes share only the database.", true,
			once, answered),
		of(pgidem, storeHold, "So does Store.Hold, with a processor that refuses a repeated key.", true, once, answered),
	}
}

// again: the customer paid more than once.
func again(t experiment.Result) bool { return t.Charges > 1 }

// once: the customer paid once, and nobody was told of another charge.
func once(t experiment.Result) bool { return t.Charges == 1 && t.Contradicted == 0 }

// answered: nobody got an error.
func answered(t experiment.Result) bool { return t.Failed == 0 }

// replayed: whoever did not charge got the answer of who did.
func replayed(t experiment.Result) bool {
	return t.Charged <= 1 && t.Charged+t.Replays == t.Requests
}

// refused: somebody got an error, and every error was this one.
func refused(state string) func(experiment.Result) bool {
	return func(t experiment.Result) bool { return t.Failed > 0 && t.SQLStates[state] == t.Failed }
}

// allRefused: only one caller got no such error.
func allRefused(state string) func(experiment.Result) bool {
	return func(t experiment.Result) bool { return t.SQLStates[state] == t.Requests-1 }
}

func (r *Result) retryLoop() report.Finding {
	d := r.design(serializableRetry)
	return report.Finding{
		Source: "article 000", Must: true,
		Claim:    "SERIALIZABLE costs a retry loop at every caller; with one, all of them get the answer.",
		Measured: fmt.Sprintf("%s; transactions run again: %d", d.says(), d.RunAgain),
		Holds:    d.each(once) && d.each(answered) && d.each(replayed) && d.RunAgain > 0,
	}
}

func (r *Result) failsLess() report.Finding {
	failed := func(t experiment.Result) int { return t.Failed }
	index, ssi := r.design(referee), r.design(serializable)
	return report.Finding{
		Source: "article 000", Must: true,
		Claim: "For one key and one row, a unique index fails less often than SERIALIZABLE.",
		Measured: fmt.Sprintf("errors that callers got: %d with the index, %d under SERIALIZABLE; next to the bystander, "+
			"with a key of its own for each payment, %s", index.sum(failed), ssi.sum(failed), r.bystander(beside).again()),
		Holds: len(index.Trials) > 0 && index.sum(failed) < ssi.sum(failed),
	}
}
