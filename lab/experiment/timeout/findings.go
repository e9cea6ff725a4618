package timeout

import (
	"fmt"
	"slices"

	"github.com/pgidem/pgidem/lab/report"
)

const (
	article000 = "article 000"
	article004 = "article 004"
	product    = "pgidem"
)

// findings are what the run says to the articles' sentences and to the product's promises.
func (r *Result) findings() []report.Finding {
	return slices.Concat(r.nightFindings(), r.waitFindings(), r.lateFindings(), r.verdictFindings())
}

func must(source, claim string, holds bool, measured string, args ...any) report.Finding {
	return report.Finding{Source: source, Claim: claim, Measured: fmt.Sprintf(measured, args...), Holds: holds, Must: true}
}

func (r *Result) nightFindings() []report.Finding {
	naive, sdk, ours := r.night(checkThenAct, oneKey), r.night(handler, aKeyATry), r.night(handler, oneKey)
	return []report.Finding{
		must(article004, "The retry lands while the first request still waits for the processor: two charges, one key.",
			naive.PaidTwice > 0, "%d of %d customers paid more than once", naive.PaidTwice, naive.Customers),
		must(article004, "An SDK that makes a fresh key inside its retry loop charges again, though the server is correct.",
			sdk.PaidTwice > 0, "%d of %d customers paid more than once, %d charges in all", sdk.PaidTwice, sdk.Customers, sdk.Charges),
		must(product, "With one key, made outside the loop, every customer pays once.",
			ours.Customers > 0 && ours.PaidTwice == 0 && ours.Charges == ours.Customers,
			"%d charges for %d customers, of whom %d were answered", ours.Charges, ours.Customers, ours.Answered),
	}
}

// of are the rows whose duplicates wait, or those whose do not.
func (r *Result) of(waits bool) (rows []WaitRow) {
	for _, w := range r.Waits {
		if w.Waits == waits {
			rows = append(rows, w)
		}
	}
	return rows
}

// all reports whether there are rows, and each is so.
func all[T any](rows []T, is func(T) bool) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(row T) bool { return !is(row) })
}

// sum adds up something of each row.
func sum[T any](rows []T, of func(T) int) (total int) {
	for _, row := range rows {
		total += of(row)
	}
	return total
}

func (r *Result) waitFindings() []report.Finding {
	waiting, told := r.of(true), r.of(false)
	workers := func(w WaitRow) int { return w.Workers }
	served := func(w WaitRow) int { return w.Served }
	cut := func(w WaitRow) int { return w.Cut }
	strangers := func(w WaitRow) int { return w.Strangers }
	duplicates := func(w WaitRow) int { return w.Duplicates }
	fine := report.Finding{
		Source:   product,
		Claim:    "While duplicates are answered 409 at once, all other customers are served in time.",
		Measured: fmt.Sprintf("%d of %d were served, by %d designs", sum(told, served), sum(told, strangers), len(told)),
		Holds:    all(told, func(w WaitRow) bool { return w.Served == w.Strangers }),
	}
	return []report.Finding{
		must(article004, "A duplicate that is kept waiting ties up a worker; one that is answered 409 does not.",
			all(waiting, func(w WaitRow) bool { return w.Workers == r.Workers-1 }) &&
				all(told, func(w WaitRow) bool { return w.Workers == 0 }),
			"of %d workers a design, duplicates that wait held %d on average, and those answered 409 held %d",
			r.Workers, sum(waiting, workers)/max(len(waiting), 1), sum(told, workers)),
		must(article004, "And when every worker is tied up, nobody else is served.",
			all(waiting, func(w WaitRow) bool { return w.Served == 0 }),
			"%d of %d other customers were served before they gave up", sum(waiting, served), sum(waiting, strangers)),
		must(article004, "Waiting moves the time-out into the proxy.",
			all(waiting, func(w WaitRow) bool { return w.Duplicates > 0 && w.Cut == w.Duplicates }) &&
				all(told, func(w WaitRow) bool { return w.Cut == 0 }),
			"the proxy cut %d of %d duplicates that waited, and %d of those that were answered 409",
			sum(waiting, cut), sum(waiting, duplicates), sum(told, cut)),
		must(article004, "Make the client come back: then it gets the first answer.",
			all(told, func(w WaitRow) bool { return w.Conflicts == w.Duplicates && w.Replays == w.Duplicates }) &&
				all(r.Waits, func(w WaitRow) bool { return w.Charges == 1 }),
			"%d of %d duplicates got it after a 409, and each design charged the payment once",
			sum(told, func(w WaitRow) int { return w.Replays }), sum(told, duplicates)),
		fine,
	}
}

func (r *Result) lateFindings() []report.Finding {
	short, long := r.lateAt(stripeKeeps, 0, 25), r.lateAt(weKeep, 0, 25)
	forgotten := func(l LateRow) bool {
		due := l.RetentionHours < l.AfterHours
		return l.MaxAgeHours > 0 || (l.Again == l.Payments) == due && (l.Replayed == l.Payments) != due
	}
	gone, back := r.cart(stripeKeeps, 0, cartLate), r.cart(weKeep, 0, cartLate)
	old := []LateRow{r.lateAt(stripeKeeps, 23, 25), r.lateAt(stripeKeeps, 23, 73), r.lateAt(weKeep, 71, 73)}
	young, cart := r.lateAt(weKeep, 71, 25), r.cart(weKeep, 23, cartLate)
	return []report.Finding{
		must(article000, "A key that is older than the retention is not a duplicate any more: it is a new charge.",
			all(r.Late, forgotten),
			"under 24 hours %d of %d phones were charged again after 25, and under 72 hours %d after 73",
			short.Again, short.Payments, r.lateAt(weKeep, 0, 73).Again),
		must(article004, "A longer window is kinder to a phone that retries after a day offline.",
			short.Payments > 0 && short.Again == short.Payments && long.Again == 0 && long.Replayed == long.Payments,
			"after 25 hours %d of %d were charged again under 24, and %d under 72", short.Again, short.Payments, long.Again),
		must(article004, "It also means that a stale key can resurrect a cart that the user walked away from.",
			back.Carts > 0 && back.Resurrected == back.Carts && gone.Refused == back.Carts && gone.Resurrected == 0 &&
				gone.Again+back.Again == 0,
			"after %d hours %d of %d phones were told that their cancelled cart is bought under 72, and %d under 24",
			cartLate, back.Resurrected, back.Carts, gone.Resurrected),
		must(product, "A client with Transport.MaxAge below the retention sends no key that may be forgotten, and no cart of long ago.",
			all(old, func(l LateRow) bool { return l.Payments > 0 && l.NotSent == l.Payments && l.Again == 0 }) &&
				young.Replayed == r.Payments && cart.NotSent == r.Payments && cart.Resurrected == 0,
			"%d of %d keys that were too old were not sent, nor %d of %d carts; no phone was charged again",
			sum(old, func(l LateRow) int { return l.NotSent }), sum(old, func(l LateRow) int { return l.Payments }),
			cart.NotSent, cart.Carts),
	}
}

func (r *Result) verdictFindings() []report.Finding {
	every, successes, ours := r.verdict(storesAll), r.verdict(storesSuccesses), r.verdict(storesOutcomes)
	return []report.Finding{
		must(article004, "A decline is an outcome: stored, it is replayed. Not stored, it becomes a charge.",
			ours.Payments > 0 && ours.DeclinedAgain == ours.Payments && ours.ChargedAfterDecline == 0 &&
				successes.ChargedAfterDecline == successes.Payments,
			"%d of %d declined payments were charged by a design that stores successes, %d by the product",
			successes.ChargedAfterDecline, successes.Payments, ours.ChargedAfterDecline),
		must(article004, "A 503 of the processor is no outcome: with the claim released, the retry gets through.",
			ours.Payments > 0 && ours.GotThrough == ours.Payments && ours.Stuck == 0,
			"%d of %d payments got through the product", ours.GotThrough, ours.Payments),
		must(article000, "Where failures are stored too, a retry under the same key gets the same failure, forever.",
			every.Payments > 0 && every.Stuck == every.Payments && every.GotThrough == 0,
			"%d of %d payments were answered 503 each of %d times that they came again", every.Stuck, every.Payments, comebacks),
	}
}
