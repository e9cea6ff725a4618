package design

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// CheckThenInsert looks for the charge itself and inserts it if it is missing, all in one transaction and without a unique
// index (article 000). The transaction does not help: each one's SELECT sees what was committed before it, which is nothing.
type CheckThenInsert struct {
	Pool      *pgxpool.Pool
	Delay     time.Duration  // of a charge
	Isolation pgx.TxIsoLevel // empty: READ COMMITTED
}

func (CheckThenInsert) Name() string { return "check-then-insert" }
func (CheckThenInsert) Once() bool   { return false }

//go:embed check_then_insert_look.sql
var lookForChargeSQL string

func (d CheckThenInsert) Pay(ctx context.Context, p Payment) (o Outcome, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
	if d.Isolation != "" {
		options.IsoLevel = d.Isolation
	}
	err = pgx.BeginTxFunc(ctx, d.Pool, options, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, lookForChargeSQL, p.Key).Scan(&o.ChargeID)
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
