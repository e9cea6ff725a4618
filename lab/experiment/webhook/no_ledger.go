package webhook

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// NoLedger does the work of every delivery. With a unique index on the payment the rows come to be once, and whatever else the
// work does is done again.
type NoLedger struct {
	Pool *pgxpool.Pool
	Work Work
}

func (n NoLedger) Receive(ctx context.Context, e Event) (int, error) {
	err := pgx.BeginFunc(ctx, n.Pool, func(tx pgx.Tx) error { return n.Work(ctx, tx, e) })
	return http.StatusOK, err
}
