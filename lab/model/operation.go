package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// Kind is what a client asks for.
type Kind string

const (
	Do     Kind = "do"
	Claim  Kind = "claim"  // also the first part of a Hold, until its work starts
	Decide Kind = "decide" // a resolver's verdict, until it is recorded

	Effect Kind = "effect" // at the downstream; OK: it happened, Replayed: it had happened

	Complete   Kind = "complete" // also the last part of a Hold whose work has an answer
	CompleteTx Kind = "complete tx"
	Extend     Kind = "extend"
	Release    Kind = "release"
	GiveBack   Kind = "give back" // the last part of a Hold whose work failed before any effect
	Abandon    Kind = "abandon"   // also the last part of a Hold whose work failed

	StepBegin  Kind = "step begins"
	StepFinish Kind = "step finishes"
	StepUndo   Kind = "step is undone"
	StepReplay Kind = "step is replayed"
	StepTx     Kind = "step tx"

	Age             Kind = "age"    // the lease, by UPDATE
	Expire          Kind = "expire" // the answer, by UPDATE
	Sweep           Kind = "sweep"
	Settle          Kind = "settle"           // by an operator
	OperatorRelease Kind = "operator release" // of a key that has had no effect

	Lookup Kind = "lookup"
	Rows   Kind = "rows" // reads the rows of the user's own table
)

// Operation is what a client asks for: a call's input.
type Operation struct {
	Kind    Kind
	Key     string
	Token   int           // of the claim that it acts under; a Do's and a Claim's own
	Request int           // which request: another one is another fingerprint
	Fence   int64         // of that claim
	At      time.Duration // when it was sent, from the start of the history
	Lease   time.Duration
	Settle  time.Duration // how long after its end a lease is respected
	Stale   idem.StalePolicy
	Verdict idem.Verdict // of Decide
	Asked   bool         // StepUndo: the downstream had said that nothing had happened
	Stepped bool         // the work is in steps
	Step    int          // from 0
	Calls   int          // downstream keys that were asked for outside of steps; of Release: and steps of this run
	Answer  string       // what it records: an answer, an output
	Row     string       // what commits with it in the user's own table; empty: nothing
}

// Outcome is the kind of a result.
type Outcome string

const (
	OK          Outcome = "ok"
	None        Outcome = "none"      // nothing was changed, or found
	First       Outcome = "first"     // the call's own answer
	Replayed    Outcome = "replayed"  // an earlier one
	Granted     Outcome = "granted"   // the key
	Displaced   Outcome = "displaced" // its holder, by a resolver that now asks
	Mismatch    Outcome = "mismatch"
	InFlight    Outcome = "in flight"
	Unknown     Outcome = "outcome unknown"
	Contended   Outcome = "contended"
	Unavailable Outcome = "unavailable"
	LeaseLost   Outcome = "lease lost"
	Failed      Outcome = "failed"     // the work's own error
	Unfinished  Outcome = "unfinished" // the client died, or was told that nobody can say
)

// Result is what a client was told: a call's output.
type Result struct {
	Outcome Outcome
	Answer  string
	Fence   int64
	Attempt int
	State   idem.State // of Lookup
	Rows    string     // of Rows: sorted, one a word
	Note    string     // the error in words, for people
	At      time.Duration
}

func (o Operation) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s", o.Kind)
	if o.Token != 0 {
		fmt.Fprintf(&text, " #%d", o.Token)
	}
	switch o.Kind {
	case Do, Claim, Effect:
		fmt.Fprintf(&text, " request %d", o.Request)
	case Decide:
		fmt.Fprintf(&text, " %s", [...]string{"pending", "found", "nothing"}[o.Verdict])
	}
	switch o.Kind {
	case Effect, StepBegin, StepFinish, StepUndo, StepReplay, StepTx:
		fmt.Fprintf(&text, " step %d", o.Step)
	}
	if o.Answer != "" {
		fmt.Fprintf(&text, " %q", o.Answer)
	}
	return text.String()
}

func (r Result) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s", r.Outcome)
	if r.Fence != 0 {
		fmt.Fprintf(&text, " fence …%06d attempt %d", r.Fence%1_000_000, r.Attempt)
	}
	if r.State != "" {
		fmt.Fprintf(&text, " %s", r.State)
	}
	if r.Answer != "" {
		fmt.Fprintf(&text, " %q", r.Answer)
	}
	if r.Rows != "" {
		fmt.Fprintf(&text, " [%s]", r.Rows)
	}
	if r.Note != "" {
		fmt.Fprintf(&text, " (%s)", r.Note)
	}
	return text.String()
}
