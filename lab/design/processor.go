package design

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Processor is a pretended card processor: it charges a key once, and answers a repeated one with the charge that it has.
type Processor struct {
	Pool  *pgxpool.Pool // of the processor's own database, as far as the designs can tell
	Delay time.Duration // of a charge
}

var (
	//go:embed processor_charge.sql
	processorChargeSQL string
	//go:embed processor_find.sql
	processorFindSQL string
)

// Charge takes the money for p unless it was taken under this key before, and returns the charge's id.
func (s Processor) Charge(ctx context.Context, key string, p Payment) (id int64, err error) {
	if err := wait(ctx, s.Delay); err != nil {
		return 0, err
	}
	err = s.Pool.QueryRow(ctx, processorChargeSQL, key, p.Key, p.Customer, p.AmountCents).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = s.Pool.QueryRow(ctx, processorFindSQL, key).Scan(&id)
	}
	return id, err
}
