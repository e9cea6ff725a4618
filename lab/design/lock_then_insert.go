package design

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// LockThenInsert is CheckThenInsert with FOR UPDATE (article 000). That locks the rows which the SELECT returns: none for a key
// that is new, and for one that has been charged a row which nobody is about to write.
type LockThenInsert struct {
	Pool  *pgxpool.Pool
	Delay time.Duration // of a charge
}

func (LockThenInsert) Name() string { return "lock-then-insert" }
func (LockThenInsert) Once() bool   { return false }

//go:embed lock_then_insert_look.sql
var lockChargeSQL string

func (d LockThenInsert) Pay(ctx context.Context, p Payment) (o Outcome, err error) {
	err = pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, lockChargeSQL, p.Key).Scan(&o.ChargeID)
		if !errors.Is(err, pgx.ErrNoRows) {
			o.Kind = Replayed
			return err
		}
		o.Kind = Charged
		o.ChargeID, err = charge(ctx, tx, p, d.Delay)
		return err
	})
	return o, err
}
