package timeout

import (
	"context"
	_ "embed"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/design"
)

// lookThenStore is article 004's handler: it looks for an answer, asks the processor without a key, and stores what it said;
// failures as well, or successes alone. One request of a payment comes after the other here, so that its window does not count.
type lookThenStore struct {
	pool     *pgxpool.Pool
	card     processor.Client
	failures bool
}

var (
	//go:embed look.sql
	lookSQL string
	//go:embed store.sql
	storeSQL string
)

func (l lookThenStore) pay(ctx context.Context, p design.Payment) (status int, err error) {
	switch err := l.pool.QueryRow(ctx, lookSQL, p.Key).Scan(&status); {
	case err == nil:
		return status, nil
	case !errors.Is(err, pgx.ErrNoRows):
		return 0, err
	}
	status, err = charge(ctx, l.card, "", p)
	if err != nil || status != http.StatusCreated && !l.failures {
		return status, err
	}
	_, err = l.pool.Exec(ctx, storeSQL, p.Key, status)
	return status, err
}
