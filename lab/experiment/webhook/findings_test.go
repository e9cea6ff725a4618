package webhook

import (
	"slices"
	"testing"
)

// asExpected is what a run of 10 payments with 2 deliveries at once measures.
func asExpected() *Result {
	once := func(events, started int) Fulfilled {
		return Fulfilled{Events: events, Once: events, Times: events, Started: started}
	}
	lost := Fulfilled{Events: 10, Dropped: 10}
	return &Result{
		Payments: 10, Copies: 2, WorkSeconds: 0.02, InHand: 5,
		Keys: []KeyRow{
			{Ledger: lookFirst, Key: byPayment, Deliveries: 40, Late: 20,
				Fulfilled: Fulfilled{Events: 20, Once: 1, Repeated: 9, Dropped: 10, Times: 19, Started: 19}},
			{Ledger: oneTx, Key: byPayment, Deliveries: 40, Late: 20,
				Fulfilled: Fulfilled{Events: 20, Once: 10, Dropped: 10, Times: 10, Started: 10}},
			{Ledger: noLedger, Belt: true, Deliveries: 40, Late: 20, LateWorks: 20, Fulfilled: once(20, 60)},
			{Ledger: oneTx, Key: byEvent, Deliveries: 40, Late: 20, Fulfilled: once(20, 20)},
			{Ledger: oneTx, Key: byEvent, Belt: true, Deliveries: 40, Late: 20, Fulfilled: once(20, 20)},
			{Ledger: storeDo, Key: byEvent, Deliveries: 40, Late: 20, Fulfilled: once(20, 20)},
		},
		Pairs: []PairRow{
			{Ledger: lookFirst, Fulfilled: Fulfilled{Events: 10, Repeated: 10, Times: 20, Started: 20},
				Apart: Apart{MedianSeconds: 0.0002, MostSeconds: 0.003}, WithinMillisecond: 9},
			{Ledger: lookFirst, Belt: true, Fulfilled: once(10, 20),
				Apart: Apart{MedianSeconds: 0.0003, MostSeconds: 0.004}, WithinMillisecond: 8},
			{Ledger: storeDo, Fulfilled: once(10, 10)},
		},
		Deaths: []DeathRow{
			{Ledger: staleClaim, Busy: 200, Killed: 2, InHand: 10, Told: Told{OK: 10}, Fulfilled: lost, LostCents: 490_00},
			{Ledger: staleClaim, Busy: 409, Killed: 2, InHand: 10, Told: Told{Conflict: 10}, Again: 10, Fulfilled: once(10, 10)},
			{Ledger: oneTx, Busy: 200, Killed: 2, InHand: 10, Told: Told{OK: 10}, Fulfilled: lost, LostCents: 490_00},
			{Ledger: oneTx, Busy: 409, Killed: 2, InHand: 10, Told: Told{Conflict: 10}, Again: 10, Fulfilled: once(10, 10)},
			{Ledger: storeDo, Busy: 409, Killed: 2, InHand: 10, Told: Told{Conflict: 10}, Again: 10, Fulfilled: once(10, 10)},
			{Ledger: storeHold, Busy: 409, Killed: 2, InHand: 10, Told: Told{Conflict: 10}, Again: 10, Fulfilled: once(10, 10)},
		},
	}
}

// failed are the numbers of the findings that do not hold, from 1.
func failed(r *Result) (numbers []int) {
	for i, f := range r.findings() {
		if !f.Holds {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func TestFindingsAreAboutTheirFigures(t *testing.T) {
	if got := failed(asExpected()); got != nil {
		t.Fatalf("findings %v fail with nothing wrong", got)
	}
	for _, c := range []struct {
		claim  string
		change func(*Result)
		want   []int
	}{
		{"the follow-up was not dropped", func(r *Result) { r.Keys[1].Dropped = 0 }, []int{1}},
		{"more than the follow-up was dropped", func(r *Result) { r.Keys[1].Dropped = 11 }, []int{1}},
		{"looking first fulfilled nothing twice", func(r *Result) { r.Keys[0].Repeated = 0 }, []int{2}},
		{"a claim by the event's id dropped one", func(r *Result) { r.Keys[3].Once-- }, []int{3}},
		{"a claim by the event's id fulfilled one twice", func(r *Result) { r.Keys[3].Times++ }, []int{3}},
		{"a late delivery began a work in spite of the ledger", func(r *Result) { r.Keys[4].LateWorks = 1 }, []int{4}},
		{"the index alone began none", func(r *Result) { r.Keys[2].LateWorks = 0 }, []int{4}},
		{"the index alone fulfilled one twice", func(r *Result) { r.Keys[2].Times++ }, []int{4}},
		{"the product fulfilled one twice", func(r *Result) { r.Keys[5].Times++ }, []int{5}},
		{"the product began a late work", func(r *Result) { r.Keys[5].LateWorks = 1 }, []int{5}},
		{"no pair fulfilled twice", func(r *Result) { r.Pairs[0].Repeated = 0 }, []int{6}},
		{"a pair fulfilled twice in spite of the index", func(r *Result) { r.Pairs[1].Times++ }, []int{7}},
		{"no pair interleaved", func(r *Result) { r.Pairs[1].Started = 10 }, []int{7}},
		{"the product began two works for a pair", func(r *Result) { r.Pairs[2].Started++ }, []int{8}},
		{"a 200 lost nothing", func(r *Result) { r.Deaths[0].Dropped = 0 }, []int{9}},
		{"the provider came back after a 200", func(r *Result) { r.Deaths[0].Again = 1 }, []int{9}},
		{"nobody was answered 200", func(r *Result) { r.Deaths[2].Told, r.Deaths[2].Dropped = Told{}, 0 }, []int{11}},
		{"a 409 lost one", func(r *Result) { r.Deaths[1].Once-- }, []int{10}},
		{"the provider did not come back after a 409", func(r *Result) { r.Deaths[3].Again = 9 }, []int{12}},
		{"the product lost one", func(r *Result) { r.Deaths[4].Once-- }, []int{13}},
		{"the product's lease fulfilled one twice", func(r *Result) { r.Deaths[5].Times++ }, []int{14}},
		{"the product answered a 200", func(r *Result) { r.Deaths[5].Told = Told{OK: 1, Conflict: 9} }, []int{14}},
		{"nothing was measured", func(r *Result) { *r = Result{} }, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			r := asExpected()
			c.change(r)
			if got := failed(r); !slices.Equal(got, c.want) {
				t.Errorf("findings %v fail, want %v", got, c.want)
			}
			for _, f := range r.findings() {
				if !f.Must || f.Claim == "" || f.Measured == "" {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}
