package throughput

import (
	"fmt"
	"math"
	"strings"

	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/report"
	"github.com/pgidem/pgidem/lab/trials"
)

const (
	article = "article 003"
	product = "pgidem"
)

// findings are what the article says about speed, with what this machine says to it, and what no machine may change.
func (r *Result) findings() []report.Finding {
	var all []report.Finding
	if r.rate(redisLock) > 0 {
		all = append(all, r.redisIsFastest(), r.redisIsThreeTimesAsFast(), r.gapIsTheKeyStore())
	}
	return append(all,
		r.claimIsFaster(),
		r.plenty(),
		r.uniqueKeysAreChargedOnce(),
		r.oneCallerWins(article, "An atomic claim succeeds for exactly one caller, however many come at once.", claim, transaction),
		r.retriesQueue(),
		r.keepsUp("Store.Do is no slower than the same statements in a transaction written by hand.", do, transaction),
		r.keepsUp("Store.Hold is no slower than a claim written by hand.", hold, claim),
		r.oneCallerWins(product, "However many come with one new key, one charges, and no answer names another charge.", do, hold),
		r.hotKeyIsCheap(),
		r.nobodyElseWaits(),
	)
}

func (r *Result) redisIsFastest() report.Finding {
	return report.Finding{
		Source: article, Claim: "Redis is the fastest of the three key stores.", Measured: r.rates(redisLock, claim, transaction),
		Holds: r.rate(redisLock) > max(r.rate(claim), r.rate(transaction)),
	}
}

func (r *Result) redisIsThreeTimesAsFast() report.Finding {
	times := *r.row(redisLock).TimesClaim
	return report.Finding{
		Source: article, Claim: "Redis is about three times as fast as a Postgres claim.",
		Measured: times.Decimal() + " times", Holds: math.Round(times.Median) == 3,
	}
}

func (r *Result) gapIsTheKeyStore() report.Finding {
	return report.Finding{
		Source: article, Claim: "The charge still goes to PostgreSQL, so the gap is the cost of the key store alone.",
		Measured: r.rates(none, redisLock, claim, transaction),
		Holds:    r.rate(none) > r.rate(redisLock) && r.rate(redisLock) > max(r.rate(claim), r.rate(transaction)),
	}
}

func (r *Result) claimIsFaster() report.Finding {
	return report.Finding{
		Source: article, Claim: "The claim is somewhat faster than the transaction (its table: 2,993 and 2,644 requests a second).",
		Measured: r.rates(claim, transaction), Holds: r.rate(claim) > r.rate(transaction),
	}
}

func (r *Result) plenty() report.Finding {
	return report.Finding{
		Source: article, Claim: "A correct design in PostgreSQL runs at 2,000 requests a second and more.",
		Measured: r.rates(claim, transaction), Holds: min(r.rate(claim), r.rate(transaction)) >= 2000,
	}
}

// rates writes down some designs' speeds.
func (r *Result) rates(designs ...string) string {
	var all []string
	for _, d := range designs {
		if row := r.row(d); len(row.Trials) > 0 {
			all = append(all, d+" "+row.RequestsPerSecond.Whole())
		}
	}
	return report.List(all) + " requests a second"
}

// uniqueKeysAreChargedOnce is also what the speeds rest on: a request that fails is no request.
func (r *Result) uniqueKeysAreChargedOnce() report.Finding {
	var problems []string
	requests := 0
	for _, row := range r.Rows {
		for _, t := range row.Trials {
			requests += t.Requests
			problems = append(problems, broken(row.Design, t)...)
		}
	}
	return must(article, "A load with unique keys sends no retries: every design charges each key once.",
		fmt.Sprintf("one charge for each of %s requests", report.Number(requests)), problems)
}

func (r *Result) keepsUp(claim, ours, theirs string) report.Finding {
	times := trials.Ratio(rates(r.row(ours)), rates(r.row(theirs)))
	return report.Finding{
		Source: product, Claim: claim, Measured: fmt.Sprintf("%s times %s", times.Decimal(), theirs), Holds: times.Median >= 1,
	}
}

// must is a finding that logic decides.
func must(source, claim, measured string, problems []string) report.Finding {
	f := report.Finding{Source: source, Claim: claim, Measured: measured, Must: true, Holds: len(problems) == 0}
	if !f.Holds {
		f.Measured = strings.Join(problems, "; ")
	}
	return f
}

// broken says what in a run is not as one charge a payment has it; empty: nothing.
func broken(design string, t experiment.Result) []string {
	if t.Charges == t.Payments && t.Charged == t.Payments && t.Duplicates+t.Missing+t.Contradicted+t.Failed == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: %d charges and %d who charged for %d keys, %d answers that contradict others",
		design, t.Charges, t.Charged, t.Payments, t.Contradicted)
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d requests without an answer, the first with %s", t.Failed, t.FirstFailure)
	}
	return []string{text}
}
