package timeout

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/design"
)

// VerdictRow is what a design made of failures of the processor: cards that are declined and would be accepted later, and calls
// that are answered 503 and would go through later. Each payment is sent again under its key.
type VerdictRow struct {
	Design   string `json:"design"`
	Payments int    `json:"payments"` // of each kind

	DeclinedAgain       int `json:"declined_again"`         // retries of a declined payment that were answered 402
	ChargedAfterDecline int `json:"charged_after_declined"` // payments whose customer was told that the card was declined
	GotThrough          int `json:"got_through"`            // payments that were charged after a 503
	Stuck               int `json:"stuck"`                  // payments that were answered 503 however often they came
}

// keeper is a design of VerdictRow.
type keeper interface {
	// pay handles one request, and returns the status of its answer: 201, 402 or 503.
	pay(ctx context.Context, p design.Payment) (status int, err error)
}

// What findings speak of.
const (
	storesAll       = "stores every answer"
	storesSuccesses = "stores successes"
	storesOutcomes  = "pgidem Store.Hold"
)

// comebacks is how often a client comes again after a 503.
const comebacks = 3

func (t *Timeout) verdicts(ctx context.Context, s stage, r *Result) (err error) {
	card, err := s.programs.Processor(ctx, s.pool)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, card.Stop()) }()
	store := &idem.Store{Pool: s.pool}
	defer store.Close()
	designs := []struct {
		name string
		keeper
	}{
		{storesAll, lookThenStore{pool: s.pool, card: card.Client, failures: true}},
		{storesSuccesses, lookThenStore{pool: s.pool, card: card.Client}},
		{storesOutcomes, hold{store: store, card: card.Client}},
	}
	step, ended := s.bench.Progress("timeout: failures", 2*len(designs))
	defer ended()
	for _, d := range designs {
		row := VerdictRow{Design: d.name, Payments: t.Payments}
		for _, kind := range []func(context.Context, processor.Client, keeper) error{row.declines, row.outages} {
			if err := card.Reset(ctx); err != nil {
				return err
			}
			if err := kind(ctx, card.Client, d); err != nil {
				return fmt.Errorf("failures, %s: %w", d.name, err)
			}
			step()
		}
		r.Verdicts = append(r.Verdicts, row)
	}
	return nil
}

func (row *VerdictRow) declines(ctx context.Context, card processor.Client, k keeper) error {
	payments := newPayments(row.Payments)
	if err := card.Become(ctx, processor.Behaviour{DeclineAll: true}); err != nil {
		return err
	}
	if err := each(payments, func(p design.Payment) error { return expect(ctx, k, p, http.StatusPaymentRequired) }); err != nil {
		return err
	}
	if err := card.Become(ctx, processor.Behaviour{}); err != nil { // there is money on the cards again
		return err
	}
	for _, p := range payments {
		status, err := k.pay(ctx, p)
		if err != nil {
			return err
		}
		if status == http.StatusPaymentRequired {
			row.DeclinedAgain++
		}
	}
	stats, err := card.Stats(ctx)
	row.ChargedAfterDecline = int(stats.Charges)
	return err
}

func (row *VerdictRow) outages(ctx context.Context, card processor.Client, k keeper) error {
	payments := newPayments(row.Payments)
	if err := card.Become(ctx, processor.Behaviour{Unavailable: 1}); err != nil { // the first call of each
		return err
	}
	if err := each(payments, func(p design.Payment) error { return expect(ctx, k, p, http.StatusServiceUnavailable) }); err != nil {
		return err
	}
	for _, p := range payments {
		status := http.StatusServiceUnavailable
		for try := 0; try < comebacks && status == http.StatusServiceUnavailable; try++ {
			var err error
			if status, err = k.pay(ctx, p); err != nil {
				return err
			}
		}
		if status == http.StatusServiceUnavailable {
			row.Stuck++
		}
	}
	stats, err := card.Stats(ctx)
	row.GotThrough = int(stats.Charges)
	return err
}

func newPayments(n int) []design.Payment {
	payments := make([]design.Payment, n)
	for i := range payments {
		payments[i] = design.NewPayment(fmt.Sprintf("customer %d", i+1))
	}
	return payments
}

func expect(ctx context.Context, k keeper, p design.Payment, want int) error {
	status, err := k.pay(ctx, p)
	if err == nil && status != want {
		err = fmt.Errorf("a payment was answered %d at first, and not %d", status, want)
	}
	return err
}

// charge asks the processor, and returns the status that its word stands for.
func charge(ctx context.Context, card processor.Client, key string, p design.Payment) (status int, err error) {
	receipt, err := card.Charge(ctx, key, processor.Request{
		AmountCents: int64(p.AmountCents), Card: "4242424242424242", Reference: p.Key,
	})
	switch {
	case errors.Is(err, processor.ErrUnavailable):
		return http.StatusServiceUnavailable, nil
	case err != nil:
		return 0, err
	case receipt.Status == processor.Declined:
		return http.StatusPaymentRequired, nil
	}
	return http.StatusCreated, nil
}
