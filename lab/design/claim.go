package design

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Claim inserts the key as pending, charges, and then marks the key as done: article 003's recommended default. A key that has
// been pending for longer than Stale is taken over, and charged. The key goes to the processor too; whether a takeover charges
// again is the processor's to decide (the article's extra rule).
type Claim struct {
	Pool  *pgxpool.Pool
	Card  *Card         // nil: the charge is a row of this database, which commits by itself
	Delay time.Duration // of a charge here
	Stale time.Duration // 0: a pending key is never taken over
	Poll  Polling       // of a caller whose key is another's
	At    At
}

func (Claim) Name() string { return "Postgres claim" }
func (d Claim) Once() bool { return d.Stale == 0 }

func (d Claim) Pay(ctx context.Context, p Payment) (Outcome, error) {
	keys := claims{d.Pool}
	mine, err := keys.insert(ctx, p.Key)
	if err == nil && !mine && d.Stale > 0 {
		mine, err = keys.takeOver(ctx, p.Key, d.Stale)
	}
	switch {
	case err != nil:
		return Outcome{}, err
	case !mine:
		return d.Poll.until(ctx, func() (Outcome, error) { return keys.look(ctx, p.Key) })
	}
	id, err := chargeAt(ctx, d.Card, d.Pool, p, d.Delay)
	if err != nil {
		return Outcome{}, err
	}
	d.At.passes(Taken)
	return Outcome{Charged, id}, keys.finish(ctx, p.Key, id)
}
