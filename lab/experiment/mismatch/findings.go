package mismatch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pgidem/pgidem/lab/report"
)

// findings are the article's sentences about one key under two requests, and the product's.
func (r *Result) findings() []report.Finding {
	const article, pgidem = "article 000", "pgidem"
	of := func(source, claim, measured string, holds bool) report.Finding {
		return report.Finding{Source: source, Claim: claim, Measured: measured, Holds: holds, Must: true}
	}
	big, small, refund := r.exchange(larger, noFingerprint), r.exchange(smaller, noFingerprint), r.exchange(elsewhere, fingerBody)
	trap, text, long := r.receipt(numberString, ids[0]), r.receipt(stringTwice, ids[0]), r.receipt(throughFloat, ids[1])
	return []report.Finding{
		of(article, "Without a fingerprint the $9,000 request is told 200, and holds the receipt of a $49 charge.",
			big.money(), big.wrong() && big.Replayed && big.NamedCents == 49_00 && big.ChargedCents == 49_00),
		of(article, "In the reverse order a customer who asked for $49 holds a receipt for a $9,000 charge.",
			small.money(), small.wrong() && small.Replayed && small.NamedCents == 9_000_00 && small.ChargedCents == 9_000_00),
		r.all(article, "A fingerprint of endpoint and body makes the silent wrong answer a 422.", Exchange.refused,
			[]string{larger, smaller}, []string{fingerBoth}),
		r.all(article, "It catches the same key at another endpoint too.", Exchange.refused,
			[]string{elsewhere}, []string{fingerBoth}),
		of(article, "The fingerprint has to name the endpoint: of the body alone, it gives a refund the receipt of the charge.",
			refund.money(), refund.wrong() && refund.Replayed && refund.RefundedCents == 0),
		of(article, `The same key returns 1 once and "1" to every retry, when the first answer alone writes the id as a number.`,
			trap.says(), trap.Replays > 0 && !trap.SameValue && trap.First == `{"chargeId":1}` &&
				trap.Later == `{"chargeId":"1"}`),
		of(article, "An id that is a string in both is the same string for all.",
			text.says(), text.Replays > 0 && text.SameBytes && text.SameValue),
		of(article, "An id of 64 bits does not survive as a float64.", long.says(), long.Replays > 0 && !long.SameValue),
		r.all(pgidem, "A key that comes with another amount is a 422 (ErrMismatch of Store.Do) and moves nothing.",
			Exchange.refused, []string{larger, smaller}, ours),
		r.all(pgidem, "A refund under a charge's key never gets the charge's answer: it is carried out, as the key is "+
			"another at each endpoint, or with ScopeTenant refused.",
			Exchange.right, []string{elsewhere}, ours),
		r.all(pgidem, "A request whose JSON is in another order is the same request, and replayed.",
			Exchange.same, []string{rewritten}, ours),
		r.sameBytes(pgidem, "A replay has the bytes of the first answer, whatever the id."),
	}
}

var ours = []string{storeDo, handlerTx, tenantScope}

// right: a request at another endpoint was carried out, or refused where a key is the tenant's.
func (e Exchange) right() bool {
	if e.Design == tenantScope {
		return e.refused()
	}
	return e.done() && e.RefundedCents == e.AskedCents
}

// all is a sentence about some designs in some scenes, all of which must be so.
func (r *Result) all(source, claim string, so func(Exchange) bool, scenes, designs []string) report.Finding {
	f := report.Finding{Source: source, Claim: claim, Holds: true, Must: true}
	told := map[string][]string{} // designs by what they say
	for _, d := range designs {
		for _, s := range scenes {
			e := r.exchange(s, d)
			f.Holds = f.Holds && so(e)
			if !slices.Contains(told[e.says()], d) {
				told[e.says()] = append(told[e.says()], d)
			}
		}
	}
	var said []string
	for _, what := range slices.Sorted(maps.Keys(told)) {
		said = append(said, what+" from "+report.List(told[what]))
	}
	f.Measured = strings.Join(said, "; ")
	return f
}

func (r *Result) sameBytes(source, claim string) report.Finding {
	f := report.Finding{Source: source, Claim: claim, Holds: true, Must: true}
	var said []string
	for _, writer := range []string{storeDo, handlerTx} {
		for _, id := range ids {
			one := r.receipt(writer, id)
			f.Holds = f.Holds && one.Replays > 0 && one.SameBytes && one.First == string(receipt(id))
			said = append(said, writer+": "+one.says())
		}
	}
	f.Measured = strings.Join(said, "; ")
	return f
}

// money is what a finding quotes of an exchange.
func (e Exchange) money() string {
	return fmt.Sprintf("asked for a %s of %s; told %d, %s; charged in all %s, refunded %s", e.Asked, report.Dollars(e.AskedCents),
		e.Status, e.says(), report.Dollars(e.ChargedCents), report.Dollars(e.RefundedCents))
}

// says is what a finding quotes of a receipt.
func (r Receipt) says() string {
	switch {
	case r.Replays == 0:
		return "it did not run"
	case r.SameBytes:
		return fmt.Sprintf("%s, and the same bytes in %d replays", r.First, r.Replays)
	}
	return fmt.Sprintf("%s once, then %s in %d replays", r.First, r.Later, r.Replays)
}
