package design

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pgidem/pgidem/idem"
)

// Steps is the product's lease mode with a recovery point: the charge is a step, and a run that comes later gets its output from
// the record, or runs it again under the same downstream key where it was begun and not recorded.
type Steps struct {
	Store *idem.Store // its Policy may be StaleRerun: the processor refuses a repeat
	Card  *Card
	At    At
}

func (Steps) Name() string { return "Lease.Step" }
func (Steps) Once() bool   { return true }

func (d Steps) Pay(ctx context.Context, p Payment) (Outcome, error) {
	return outcomeOf(d.Store.Hold(ctx, keyOf(p), func(ctx context.Context, l *idem.Lease) (*idem.Response, error) {
		output, err := l.Step(ctx, step, func(ctx context.Context, key string) ([]byte, error) {
			id, err := d.Card.charge(ctx, key, p)
			if err != nil {
				return nil, err
			}
			d.At.passes(Taken)
			return strconv.AppendInt(nil, id, 10), nil
		})
		if err != nil {
			return nil, err
		}
		d.At.passes(StepIsKept)
		id, err := strconv.ParseInt(string(output), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the step's output is no charge id: %w", err)
		}
		return created(id), nil
	}))
}
