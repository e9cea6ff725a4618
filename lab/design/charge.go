package design

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
)

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

//go:embed charge.sql
var chargeSQL string

// charge takes the money: it lasts for delay, as a card network would, and then leaves a row.
func charge(ctx context.Context, db querier, p Payment, delay time.Duration) (id int64, err error) {
	if err := wait(ctx, delay); err != nil {
		return 0, err
	}
	err = db.QueryRow(ctx, chargeSQL, p.Key, p.Customer, p.AmountCents).Scan(&id)
	return id, err
}

// chargeAt charges at card, under the payment's own key. nil: here, in db.
func chargeAt(ctx context.Context, card *Card, db querier, p Payment, delay time.Duration) (int64, error) {
	if card == nil {
		return charge(ctx, db, p, delay)
	}
	return card.charge(ctx, p.Key, p)
}

func wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
