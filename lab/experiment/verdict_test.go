package experiment

import (
	"slices"
	"testing"
)

func TestProblems(t *testing.T) {
	ours := Result{Design: "ours", Once: true, Charges: 10}
	naive := Result{Design: "naive", Charges: 12, Duplicates: 2}
	with := func(r Result, change func(*Result)) Result {
		change(&r)
		return r
	}
	for _, c := range []struct {
		claim string
		runs  Trials
		want  []string
	}{
		{"none when each does what it is for", Trials{ours}, nil},
		{"a naive design must charge twice", Trials{naive}, nil},
		{"in one of its trials at least", Trials{with(naive, func(r *Result) { r.Duplicates = 0 }), naive}, nil},
		{"else nothing was proved", Trials{with(naive, func(r *Result) { r.Duplicates = 0 })},
			[]string{"barrier: naive: no duplicate charge this time, so the demo proves nothing: send more copies, or let a charge take longer"}},
		{"a duplicate of ours", Trials{ours, with(ours, func(r *Result) { r.Duplicates = 1 })},
			[]string{"barrier: ours: duplicate charges: 1, and it promises none"}},
		{"a payment that was lost", Trials{with(ours, func(r *Result) { r.Missing = 2 })},
			[]string{"barrier: ours: payments that were never charged: 2"}},
		{"two answers to one payment", Trials{with(ours, func(r *Result) { r.Contradicted = 3 })},
			[]string{"barrier: ours: payments whose answers name more than one charge: 3"}},
		{"an error, whoever's", Trials{with(naive, func(r *Result) { r.Failed, r.FirstFailure = 4, "gone" })},
			[]string{"barrier: naive: requests without an answer: 4, the first with: gone"}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			d := DemoResult{Storm: []Result{ours, naive}, Barrier: []Trials{c.runs}}
			if got := d.Problems(); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
