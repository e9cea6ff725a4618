package webhook

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// StaleClaim commits its claim before it works, so that everybody can see that an event is in hand, and takes over a claim that
// is older than Stale. It has no fence: where a holder is late, and not dead, the work is done twice.
type StaleClaim struct {
	Pool  *pgxpool.Pool
	Key   Key
	Work  Work
	Stale time.Duration
	Busy  int // the status that a delivery is answered with whose key another one holds
}

var (
	//go:embed take.sql
	takeSQL string
	//go:embed is_done.sql
	isDoneSQL string
	//go:embed finish.sql
	finishSQL string
)

func (s StaleClaim) Receive(ctx context.Context, e Event) (int, error) {
	key := s.Key.of(e)
	switch err := s.Pool.QueryRow(ctx, takeSQL, key, s.Stale).Scan(new(string)); {
	case errors.Is(err, pgx.ErrNoRows):
		return s.other(ctx, key)
	case err != nil:
		return 0, err
	}
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if err := s.Work(ctx, tx, e); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, finishSQL, key)
		return err
	})
	return http.StatusOK, err
}

// other answers a delivery whose key is another one's.
func (s StaleClaim) other(ctx context.Context, key string) (int, error) {
	var done bool
	err := s.Pool.QueryRow(ctx, isDoneSQL, key).Scan(&done)
	if err == nil && !done {
		return s.Busy, nil
	}
	return http.StatusOK, err
}
