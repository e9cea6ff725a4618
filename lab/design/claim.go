package design

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Claim inserts the key as pending, charges at a processor outside, and then marks the key as done: article 003's recommended
// default. A key that has been pending for longer than Stale is taken over, and charged. The key goes to the processor too;
// whether a takeover charges again is the processor's to decide (the article's extra rule).
type Claim struct {
	Pool  *pgxpool.Pool
	Card  *Card
	Stale time.Duration
	At    At
}

func (Claim) Name() string { return "Postgres claim" }
func (Claim) Once() bool   { return false }

func (d Claim) Pay(ctx context.Context, p Payment) (Outcome, error) {
	keys := claims{d.Pool}
	mine, err := keys.insert(ctx, p.Key)
	if err == nil && !mine {
		mine, err = keys.takeOver(ctx, p.Key, d.Stale)
	}
	switch {
	case err != nil:
		return Outcome{}, err
	case !mine:
		return keys.look(ctx, p.Key)
	}
	id, err := d.Card.charge(ctx, p.Key, p)
	if err != nil {
		return Outcome{}, err
	}
	d.At.passes(Taken)
	return Outcome{Charged, id}, keys.finish(ctx, p.Key, id)
}
