package design

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// Do is the product's atomic mode: key, charge and answer commit together or not at all (article 003, design 4). The charge
// is a row of this database; while it takes its time the transaction is open and holds a connection.
type Do struct {
	Store *idem.Store
	Delay time.Duration // of a charge
	At    At
}

func (Do) Name() string { return "Store.Do" }
func (Do) Once() bool   { return true }

func (d Do) Pay(ctx context.Context, p Payment) (Outcome, error) {
	return outcomeOf(d.Store.Do(ctx, keyOf(p), func(ctx context.Context, tx pgx.Tx) (*idem.Response, error) {
		id, err := charge(ctx, tx, p, d.Delay)
		if err == nil {
			d.At.passes(Taken)
		}
		return created(id), err
	}))
}
