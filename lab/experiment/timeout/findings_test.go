package timeout

import (
	"slices"
	"testing"
)

// asExpected is what a run with few of everything measures.
func asExpected() *Result {
	r := (&Timeout{Customers: 10, Second: 100e6, Workers: 8, Strangers: 20, Payments: 5}).result()
	r.Nights = []NightRow{
		{Server: checkThenAct, Client: oneKey, Customers: 10, PaidTwice: 9, Charges: 19, Answered: 10, Cents: 931_00},
		{Server: handler, Client: aKeyATry, Customers: 10, PaidTwice: 10, Charges: 30, Cents: 1470_00},
		{Server: handler, Client: oneKey, Customers: 10, Charges: 10, Answered: 10, Cents: 490_00},
	}
	waiting := WaitRow{Waits: true, Duplicates: 16, Workers: 7, Conns: 16, Strangers: 20, Cut: 16, Replays: 16, Charges: 1}
	told := WaitRow{Duplicates: 16, Strangers: 20, Served: 20, MedianSeconds: 0.0123, Conflicts: 16, Replays: 16, Charges: 1}
	for _, design := range []string{insertWaits, handlerTx, handler} {
		waiting.Design, waiting.DatabaseConns = design, 1
		r.Waits = append(r.Waits, waiting)
	}
	r.Waits[0].DatabaseConns = 8
	for _, design := range []string{handlerTx, handler} {
		told.Design = design
		r.Waits = append(r.Waits, told)
	}
	for _, duplicates := range []int{0, 4, 7} {
		waiting.Duplicates, waiting.Workers, waiting.Served = duplicates, duplicates, 20
		if duplicates == 7 {
			waiting.Served = 0
		}
		told.Duplicates = duplicates
		r.Fewer = append(r.Fewer, waiting, told)
	}
	for _, retention := range []int{24, 72} {
		for _, after := range []int{23, 25, 71, 73} {
			l := LateRow{RetentionHours: retention, AfterHours: after, Payments: 5, Replayed: 5}
			if after > retention {
				l.Replayed, l.Again, l.Swept = 0, 5, 5
			}
			r.Late = append(r.Late, l)
		}
	}
	r.Late = append(r.Late,
		LateRow{RetentionHours: 24, MaxAgeHours: 23, AfterHours: 25, Payments: 5, NotSent: 5},
		LateRow{RetentionHours: 24, MaxAgeHours: 23, AfterHours: 73, Payments: 5, NotSent: 5},
		LateRow{RetentionHours: 72, MaxAgeHours: 71, AfterHours: 25, Payments: 5, Replayed: 5},
		LateRow{RetentionHours: 72, MaxAgeHours: 71, AfterHours: 73, Payments: 5, NotSent: 5},
	)
	r.Carts = []CartRow{
		{RetentionHours: 24, AfterHours: 48, Carts: 5, Refused: 5},
		{RetentionHours: 72, AfterHours: 48, Carts: 5, Resurrected: 5},
		{RetentionHours: 72, MaxAgeHours: 23, AfterHours: 48, Carts: 5, NotSent: 5},
	}
	r.Verdicts = []VerdictRow{
		{Design: storesAll, Payments: 5, DeclinedAgain: 5, Stuck: 5},
		{Design: storesSuccesses, Payments: 5, ChargedAfterDecline: 5, GotThrough: 5},
		{Design: storesOutcomes, Payments: 5, DeclinedAgain: 5, GotThrough: 5},
	}
	return r
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

// late is the row of a phone in a result to be changed.
func late(r *Result, retention, maxAge, after int) *LateRow {
	return &r.Late[slices.Index(r.Late, r.lateAt(retention, maxAge, after))]
}

func TestFindingsAreAboutTheirFigures(t *testing.T) {
	t.Parallel()
	if got := failed(asExpected()); got != nil {
		t.Fatalf("findings %v fail with nothing wrong", got)
	}
	for _, c := range []struct {
		claim  string
		change func(*Result)
		want   []int
	}{
		{"nobody paid twice with check-then-act", func(r *Result) { r.Nights[0].PaidTwice = 0 }, []int{1}},
		{"nobody paid twice with the SDK", func(r *Result) { r.Nights[1].PaidTwice = 0 }, []int{2}},
		{"somebody paid twice with one key", func(r *Result) { r.Nights[2].PaidTwice = 1 }, []int{3}},
		{"somebody never paid", func(r *Result) { r.Nights[2].Charges-- }, []int{3}},
		{"duplicates that wait held no worker", func(r *Result) { r.Waits[1].Workers = 0 }, []int{4}},
		{"duplicates that were answered held one", func(r *Result) { r.Waits[3].Workers = 1 }, []int{4}},
		{"others were served though all workers were held", func(r *Result) { r.Waits[0].Served = 1 }, []int{5}},
		{"the proxy cut none that waited", func(r *Result) { r.Waits[2].Cut = 0 }, []int{6}},
		{"the proxy cut one that was answered", func(r *Result) { r.Waits[4].Cut = 1 }, []int{6}},
		{"one that came back got no answer", func(r *Result) { r.Waits[3].Replays-- }, []int{7}},
		{"one was not told to come back", func(r *Result) { r.Waits[3].Conflicts-- }, []int{7}},
		{"the slow payment was charged twice", func(r *Result) { r.Waits[0].Charges = 2 }, []int{7}},
		{"somebody was not served though workers were free", func(r *Result) { r.Waits[4].Served-- }, []int{8}},
		{"a phone was not charged again after the retention", func(r *Result) { late(r, 24, 0, 73).Again = 4 }, []int{9}},
		{"a phone was charged again within the retention", func(r *Result) { late(r, 72, 0, 71).Replayed = 4 }, []int{9}},
		{"nobody came after a day", func(r *Result) {
			r.Late = slices.DeleteFunc(r.Late, func(l LateRow) bool { return l == r.lateAt(24, 0, 25) })
		}, []int{10}},
		{"72 hours were not kind", func(r *Result) { late(r, 72, 0, 25).Again = 1 }, []int{10}},
		{"no cart was resurrected", func(r *Result) { r.Carts[1].Resurrected = 0 }, []int{11}},
		{"one was under 24 hours, too", func(r *Result) { r.Carts[0].Resurrected, r.Carts[0].Refused = 1, 4 }, []int{11}},
		{"a cancelled cart was charged again", func(r *Result) { r.Carts[0].Again = 1 }, []int{11}},
		{"a key that is too old was sent", func(r *Result) { late(r, 24, 23, 25).NotSent = 4 }, []int{12}},
		{"a key that is young enough was not", func(r *Result) { late(r, 72, 71, 25).Replayed = 4 }, []int{12}},
		{"a cart that is too old was sent", func(r *Result) { r.Carts[2].NotSent = 4 }, []int{12}},
		{"the product charged what it had declined", func(r *Result) { r.Verdicts[2].ChargedAfterDecline = 1 }, []int{13}},
		{"a decline that is not stored did no harm", func(r *Result) { r.Verdicts[1].ChargedAfterDecline = 0 }, []int{13}},
		{"the product kept a key after a 503", func(r *Result) { r.Verdicts[2].GotThrough, r.Verdicts[2].Stuck = 4, 1 }, []int{14}},
		{"a stored 503 went away", func(r *Result) { r.Verdicts[0].Stuck, r.Verdicts[0].GotThrough = 4, 1 }, []int{15}},
		{"nothing was measured", func(r *Result) { *r = Result{} }, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			r := asExpected()
			c.change(r)
			if got := failed(r); !slices.Equal(got, c.want) {
				t.Errorf("findings %v fail, want %v", got, c.want)
			}
		})
	}
}

func TestOnlySpeedMayDiffer(t *testing.T) {
	t.Parallel()
	for i, f := range asExpected().findings() {
		if f.Must != (i+1 != 8) || f.Claim == "" || f.Measured == "" {
			t.Errorf("finding %d: %+v", i+1, f)
		}
	}
}
