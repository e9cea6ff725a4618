package webhook

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// LookFirst has a ledger that is only a SELECT: it looks the key up, does the work and notes the key, in one transaction. The
// deliveries that look before one of them has committed find nothing, all of them.
type LookFirst struct {
	Pool   *pgxpool.Pool
	Key    Key
	Work   Work
	Looked func(Event) // told between the look and the work that the key is new; nil: nobody is
}

var (
	//go:embed look.sql
	lookSQL string
	//go:embed note.sql
	noteSQL string
)

func (l LookFirst) Receive(ctx context.Context, e Event) (int, error) {
	err := pgx.BeginFunc(ctx, l.Pool, func(tx pgx.Tx) error {
		var seen bool
		if err := tx.QueryRow(ctx, lookSQL, l.Key.of(e)).Scan(&seen); err != nil || seen {
			return err
		}
		if l.Looked != nil {
			l.Looked(e)
		}
		if err := l.Work(ctx, tx, e); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, noteSQL, l.Key.of(e))
		return err
	})
	return http.StatusOK, err
}
