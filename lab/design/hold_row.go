package design

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// HoldRow is the product's lease mode over a row that commits by itself, as Claim's charge does: the same work, to be timed
// beside it. Nothing refuses to repeat that row, so what counts on a crash needs Hold or Do.
type HoldRow struct {
	Store *idem.Store // its Policy must be StaleRefuse
	Pool  *pgxpool.Pool
	Delay time.Duration // of a charge
}

func (HoldRow) Name() string { return "Store.Hold" }
func (HoldRow) Once() bool   { return true }

func (d HoldRow) Pay(ctx context.Context, p Payment) (Outcome, error) {
	return outcomeOf(d.Store.Hold(ctx, keyOf(p), func(ctx context.Context, _ *idem.Lease) (*idem.Response, error) {
		id, err := charge(ctx, d.Pool, p, d.Delay)
		return created(id), err
	}))
}
