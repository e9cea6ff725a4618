package mismatch

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed tables.sql
	tablesSQL string
	//go:embed reset.sql
	resetSQL string
	//go:embed next_id.sql
	nextIDSQL string
	//go:embed move.sql
	moveSQL string
	//go:embed movement.sql
	movementSQL string
	//go:embed moved.sql
	movedSQL string
)

// ledger is schema mismatch.
type ledger struct{ pool *pgxpool.Pool }

func (l ledger) install(ctx context.Context) error {
	_, err := l.pool.Exec(ctx, tablesSQL)
	return err
}

// startAt empties the ledger; what moves next gets this id.
func (l ledger) startAt(ctx context.Context, id int64) error {
	if _, err := l.pool.Exec(ctx, resetSQL); err != nil {
		return err
	}
	_, err := l.pool.Exec(ctx, nextIDSQL, id)
	return err
}

// movement is what a receipt that names it is the receipt of.
func (l ledger) movement(ctx context.Context, id int64) (kind string, cents int64, err error) {
	if err = l.pool.QueryRow(ctx, movementSQL, id).Scan(&kind, &cents); err != nil {
		err = fmt.Errorf("find movement %d, which an answer names: %w", id, err)
	}
	return kind, cents, err
}

// moved is what was taken and given back under a key.
func (l ledger) moved(ctx context.Context, key string) (charged, refunded int64, err error) {
	err = l.pool.QueryRow(ctx, movedSQL, key).Scan(&charged, &refunded)
	return charged, refunded, err
}

// move takes or gives back the money of an order.
func move(ctx context.Context, tx pgx.Tx, key, kind string, o order) (id int64, err error) {
	err = tx.QueryRow(ctx, moveSQL, key, kind, o.AmountCents).Scan(&id)
	return id, err
}
