package webhook

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Claim claims the key in a ledger row and does the work in the same transaction: both commit or neither does.
type Claim struct {
	Pool     *pgxpool.Pool
	Key      Key
	Work     Work
	Patience time.Duration // how long a delivery waits for another one of its key; 0: until that has ended
	Busy     int           // the status that it is answered with then
}

var (
	//go:embed claim.sql
	claimSQL string
	//go:embed patience.sql
	patienceSQL string
)

func (c Claim) Receive(ctx context.Context, e Event) (int, error) {
	err := pgx.BeginFunc(ctx, c.Pool, func(tx pgx.Tx) error {
		limit := strconv.FormatInt(c.Patience.Milliseconds(), 10)
		if _, err := tx.Exec(ctx, patienceSQL, limit); err != nil {
			return err
		}
		claimed, err := tx.Exec(ctx, claimSQL, c.Key.of(e))
		if err != nil || claimed.RowsAffected() == 0 {
			return err
		}
		return c.Work(ctx, tx, e)
	})
	if isLockTimeout(err) {
		return c.Busy, nil
	}
	return http.StatusOK, err
}

func isLockTimeout(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "55P03"
}
