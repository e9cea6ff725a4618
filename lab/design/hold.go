package design

import (
	"context"

	"github.com/pgidem/pgidem/idem"
)

// Hold is the product's lease mode: the claim commits first, then a processor outside is asked under the downstream key, which
// it refuses to repeat (article 003, the extra rule). No connection is held while it charges.
type Hold struct {
	Store     *idem.Store // its Policy may be StaleRerun: the processor refuses a repeat
	Processor Processor
}

func (Hold) Name() string { return "Store.Hold" }
func (Hold) Once() bool   { return true }

func (d Hold) Pay(ctx context.Context, p Payment) (Outcome, error) {
	return outcomeOf(d.Store.Hold(ctx, keyOf(p), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		id, err := d.Processor.Charge(ctx, l.DownstreamKey("charge"), p)
		return created(id), err
	}))
}
