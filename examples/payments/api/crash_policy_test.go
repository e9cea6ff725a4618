package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/pgidem/pgidem/internal/testdb"
)

// What the crashes are lived through with.
const (
	crashLease  = 2 * time.Second
	crashSettle = time.Second
	// crashSlack is for a machine that has other things to do.
	crashSlack = 3 * time.Second
)

// crashPolicy is a way to take a payment, with a processor for which docs/choosing.md calls it safe.
type crashPolicy struct {
	name      string
	path      string
	api       []string // flags
	processor []string // flags
	limit     time.Duration
	asks      bool // the processor is asked, so a request may be told once or twice that it is not decided
	refuses   bool // an operator decides about what is unknown
}

// A processor at its best refuses a repeated key; one that does not can be asked, and says what is pending; the worst can do
// neither.
var (
	refusesRepeats = []string{"--repeat=error"}
	canBeAsked     = []string{"--repeat=charge", "--asked=pending"}
	neither        = []string{"--repeat=charge", "--asked=refuse"}
)

var crashPolicies = []crashPolicy{
	{name: "atomic", path: "/orders", processor: refusesRepeats, limit: crashLease},
	{name: "rerun", path: "/charges", api: []string{"--stale=rerun"}, processor: refusesRepeats, limit: crashLease},
	{name: "steps, rerun", path: "/charges", api: []string{"--stale=rerun", "--steps"}, processor: refusesRepeats, limit: crashLease},
	{name: "resolve", path: "/charges", api: []string{"--stale=resolve"}, processor: canBeAsked, limit: crashLease + crashSettle, asks: true},
	{name: "steps, resolve", path: "/charges", api: []string{"--stale=resolve", "--steps"}, processor: canBeAsked, limit: crashLease + crashSettle, asks: true},
	{name: "refuse", path: "/charges", api: []string{"--stale=refuse"}, processor: neither, limit: crashLease, refuses: true},
}

// atomic reports whether the effect is a row of the API's own.
func (p crashPolicy) atomic() bool { return p.path == "/orders" }

// flags are the API's; a later one of a name replaces an earlier one.
func (p crashPolicy) flags(databaseURL, processorURL string) []string {
	return append([]string{
		"--database-url=" + databaseURL, "--processor=" + processorURL, "--lease=" + crashLease.String(), "--settle=" + crashSettle.String(),
		fmt.Sprintf("--no-coalescing=%v", testdb.NoCoalescing()),
	}, p.api...)
}

// policyOf is the one of a name.
func policyOf(name string) crashPolicy {
	return crashPolicies[slices.IndexFunc(crashPolicies, func(p crashPolicy) bool { return p.name == name })]
}

// body is a request whose effect is counted by what, unique to it.
func (p crashPolicy) body(what string) string {
	if p.atomic() {
		return fmt.Sprintf(`{"course":"Idempotency in practice","customer":%q,"amount_cents":4900}`, what)
	}
	return fmt.Sprintf(`{"card":"4242424242424242","amount_cents":4900,"reference":%q}`, what)
}

// final reports whether a client stops asking: it has an answer, or is told that nobody knows and that asking again is no use.
func (p crashPolicy) final(r reply) bool {
	switch {
	case r.err != nil || r.status >= 500:
		return false
	case r.problem() == "outcome-unknown":
		return p.refuses
	}
	return r.status != 409
}
