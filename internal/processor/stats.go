package processor

import (
	"context"
	"sync/atomic"
)

// Stats is what a Processor has done. What is counted in its table outlives the process; the rest is since its start. A reset
// begins anew.
type Stats struct {
	Charges             int64 `json:"charges"` // that took money
	ChargedCents        int64 `json:"charged_cents"`
	Keys                int64 `json:"keys"`                 // distinct, of charges
	References          int64 `json:"references"`           // distinct, of charges
	Duplicates          int64 `json:"duplicates"`           // charges less the distinct keys, or references of those without a key
	DuplicateReferences int64 `json:"duplicate_references"` // charges with a reference less the distinct references, whatever their keys
	Refunds             int64 `json:"refunds"`
	DuplicateRefunds    int64 `json:"duplicate_refunds"`

	Requests    int64 `json:"requests"`    // POSTs of charges and refunds, whatever became of them
	Refused     int64 `json:"refused"`     // of them, repeats of a key
	Declined    int64 `json:"declined"`    // of them, first answers that declined
	Unavailable int64 `json:"unavailable"` // of them, answered with 503
	Dropped     int64 `json:"dropped"`     // of them, left without an answer
	Asked       int64 `json:"asked"`       // questions
	Pending     int64 `json:"pending"`     // arrived and not landed
}

// counters are the counts that no table has.
type counters struct{ requests, refused, declined, unavailable, dropped, asked atomic.Int64 }

func (c *counters) reset() {
	for _, one := range []*atomic.Int64{&c.requests, &c.refused, &c.declined, &c.unavailable, &c.dropped, &c.asked} {
		one.Store(0)
	}
}

// Stats counts.
func (p *Processor) Stats(ctx context.Context) (Stats, error) {
	s := Stats{ // before the table: where nothing is pending, the table has everything that came before
		Requests: p.counters.requests.Load(), Refused: p.counters.refused.Load(), Declined: p.counters.declined.Load(),
		Unavailable: p.counters.unavailable.Load(), Dropped: p.counters.dropped.Load(), Asked: p.counters.asked.Load(),
		Pending: int64(len(p.arrivals.all())),
	}
	err := p.Pool.QueryRow(ctx, countSQL).Scan(&s.Charges, &s.ChargedCents, &s.Keys, &s.References, &s.Duplicates,
		&s.DuplicateReferences, &s.Refunds, &s.DuplicateRefunds)
	return s, err
}

// Reset forgets everything but the Behaviour, once what has arrived has landed.
func (p *Processor) Reset(ctx context.Context) error {
	if err := p.arrivals.wait(ctx); err != nil {
		return err
	}
	if _, err := p.Pool.Exec(ctx, resetSQL); err != nil {
		return err
	}
	p.counters.reset()
	p.arrivals.forget()
	return nil
}
