package design

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// None charges whatever comes: the baseline (article 003, design 1).
type None struct {
	Pool  *pgxpool.Pool
	Delay time.Duration // of a charge
}

func (None) Name() string { return "no key" }
func (None) Once() bool   { return false }

func (d None) Pay(ctx context.Context, p Payment) (Outcome, error) {
	id, err := charge(ctx, d.Pool, p, d.Delay)
	return Outcome{Charged, id}, err
}
