package design

import (
	"context"

	"github.com/pgidem/pgidem/idem"
)

// HoldOutside is the product's lease mode against a card processor that is a process of its own. What becomes of a key whose
// holder has died is the Store's policy; whether that is safe is the processor's to decide.
type HoldOutside struct {
	Store *idem.Store
	Card  *Card
	At    At
}

func (HoldOutside) Name() string { return "Store.Hold" }
func (HoldOutside) Once() bool   { return true }

func (d HoldOutside) Pay(ctx context.Context, p Payment) (Outcome, error) {
	return outcomeOf(d.Store.Hold(ctx, keyOf(p), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		id, err := d.Card.charge(ctx, l.DownstreamKey(step), p)
		if err != nil {
			return nil, err
		}
		d.At.passes(Taken)
		return created(id), nil
	}))
}
