package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// tally counts what histories have met.
type tally map[Kind]map[Outcome]int

func newTally() tally { return tally{} }

func (c tally) add(h *History) {
	for kind, outcomes := range h.Met() {
		for o, n := range outcomes {
			if c[kind] == nil {
				c[kind] = map[Outcome]int{}
			}
			c[kind][o] += n
		}
	}
}

// met are what a run of histories has to meet to say anything.
var met = map[Kind][]Outcome{
	Do:              {First, Replayed, Mismatch, InFlight, Failed, Unfinished},
	Claim:           {Granted, Displaced, Replayed, Mismatch, InFlight, Unknown, Unfinished},
	Decide:          {First, Granted},
	Effect:          {OK, Replayed},
	Complete:        {OK, LeaseLost},
	CompleteTx:      {OK},
	Extend:          {OK, LeaseLost},
	Release:         {OK, Unknown},
	GiveBack:        {OK},
	Abandon:         {OK},
	StepBegin:       {OK, LeaseLost, Unfinished},
	StepFinish:      {OK},
	StepUndo:        {OK},
	StepReplay:      {Replayed},
	StepTx:          {OK, LeaseLost},
	Age:             {OK},
	Expire:          {OK},
	Sweep:           {OK},
	Settle:          {OK},
	OperatorRelease: {OK},
	Lookup:          {OK, None},
	Rows:            {OK},
}

func (c tally) check(t *testing.T) {
	t.Helper()
	for kind, outcomes := range met {
		for _, o := range outcomes {
			if c[kind][o] == 0 {
				t.Errorf("no %s had the outcome %q in these histories", kind, o)
			}
		}
	}
}

// refused are the errors that no fault of these histories explains.
func refused(h *History) (notes []string) {
	for _, op := range h.Operations() {
		if out := op.Output.(Result); out.Outcome == Unavailable {
			notes = append(notes, fmt.Sprintf("%v: %s", op.Input, out.Note))
		}
	}
	return notes
}

func (c tally) log(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		var parts []string
		for _, o := range slices.Sorted(maps.Keys(c[kind])) {
			parts = append(parts, fmt.Sprintf("%s %d", o, c[kind][o]))
		}
		t.Logf("%-16s %s", kind, strings.Join(parts, ", "))
	}
}
