package experiment

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/pgidem/pgidem/lab/design"
)

func TestStormThroughTheProductChargesEachPaymentOnce(t *testing.T) {
	b := setup(t)
	for _, d := range []design.Design{b.do(t), b.hold(t)} {
		t.Run(d.Name(), func(t *testing.T) {
			var sent atomic.Int64
			r, err := Storm{Payments: 30, Copies: 5, Workers: 20, Sent: func() { sent.Add(1) }}.Run(t.Context(), b.pool, d)
			if err != nil {
				t.Fatal(err)
			}
			if r.Requests != 150 || r.Payments != 30 || sent.Load() != 150 {
				t.Errorf("%d requests for %d payments, %d reported; want 150, 30, 150", r.Requests, r.Payments, sent.Load())
			}
			if r.Charges != 30 || r.Charged != 30 || r.AmountCents != 30*49_00 {
				t.Errorf("%d charges of %d cents, %d answers that say charged; want 30 of 147000, 30", r.Charges, r.AmountCents, r.Charged)
			}
			if r.Replays+r.InFlight != 120 {
				t.Errorf("%d replays and %d 409s; want 120 of them", r.Replays, r.InFlight)
			}
			if p := problems("storm", r); len(p) > 0 {
				t.Error(p)
			}
		})
	}
}

func TestStormThroughNaiveDesignsChargesAgain(t *testing.T) {
	b := setup(t)
	for _, d := range []design.Design{
		design.None{Pool: b.pool, Delay: delay},
		design.CheckThenAct{Pool: b.pool, Delay: delay},
		design.CheckThenInsert{Pool: b.pool, Delay: delay},
	} {
		t.Run(d.Name(), func(t *testing.T) {
			// Few payments and many workers, so that copies overlap whatever the shuffle.
			r, err := Storm{Payments: 4, Copies: 10, Workers: 20}.Run(t.Context(), b.pool, d)
			if err != nil {
				t.Fatal(err)
			}
			if r.Duplicates == 0 || r.Charges != 4+r.Duplicates || r.Contradicted == 0 {
				t.Errorf("%d charges, %d duplicates, %d contradicted; want duplicates", r.Charges, r.Duplicates, r.Contradicted)
			}
			if r.Charged != r.Charges || r.Charged+r.Replays != r.Requests {
				t.Errorf("%d charged and %d replayed of %d requests, %d charges", r.Charged, r.Replays, r.Requests, r.Charges)
			}
		})
	}
}

// broken answers nothing.
type broken struct{ design.Design }

func (broken) Pay(context.Context, design.Payment) (design.Outcome, error) {
	return design.Outcome{}, errors.New("out of order")
}

func TestRequestsWithoutAnAnswerAndPaymentsWithoutAChargeAreCounted(t *testing.T) {
	b := setup(t)
	r, err := Storm{Payments: 3, Copies: 2, Workers: 2}.Run(t.Context(), b.pool, broken{b.do(t)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed != 6 || r.Missing != 3 || r.FirstFailure != "out of order" {
		t.Errorf("failed %d (%s), missing %d; want 6 (out of order), 3", r.Failed, r.FirstFailure, r.Missing)
	}
}

func TestStormEndsWithItsContext(t *testing.T) {
	b := setup(t)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := Storm{Payments: 1000, Copies: 5, Workers: 20, Sent: func() { cancel(stopped) }}.Run(ctx, b.pool, b.do(t))
	if !errors.Is(err, stopped) {
		t.Errorf("error %v, want the cause", err)
	}
}
