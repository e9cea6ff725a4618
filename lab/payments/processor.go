package payments

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/processor"
)

// Processor starts the card processor alone, on the database of pool.
func (p *Programs) Processor(ctx context.Context, pool *pgxpool.Pool, flags ...string) (*processor.Process, error) {
	return processor.Start(ctx, p.path("processor"), withConns(pool.Config().ConnString(), processorConns), flags...)
}
