package design

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// CheckThenClaim looks the key up in lab.claims, inserts it if it is missing, and charges, all in one transaction (article 000:
// naive, with a primary key). The primary key saves the money. Whoever looked before the winner committed gets its 23505.
type CheckThenClaim struct {
	Pool  *pgxpool.Pool
	Delay time.Duration // of a charge
	Catch bool          // a 23505 is answered with what the winner stored
}

func (CheckThenClaim) Name() string { return "check-then-claim" }
func (CheckThenClaim) Once() bool   { return true }

//go:embed check_then_claim_insert.sql
var insertClaimSQL string

// uniqueViolation is the SQLSTATE of an insert that a unique index has refused.
const uniqueViolation = "23505"

func (d CheckThenClaim) Pay(ctx context.Context, p Payment) (o Outcome, err error) {
	err = pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error {
		keys := claims{tx}
		if o, err = keys.look(ctx, p.Key); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if _, err := tx.Exec(ctx, insertClaimSQL, p.Key); err != nil {
			return err
		}
		o = Outcome{Kind: Charged}
		if o.ChargeID, err = charge(ctx, tx, p, d.Delay); err != nil {
			return err
		}
		return keys.finish(ctx, p.Key, o.ChargeID)
	})
	if refused := new(pgconn.PgError); d.Catch && errors.As(err, &refused) && refused.Code == uniqueViolation {
		return claims{d.Pool}.look(ctx, p.Key)
	}
	return o, err
}
