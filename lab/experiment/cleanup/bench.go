package cleanup

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
)

// bench is what the designs run on.
type bench struct {
	pool      *pgxpool.Pool
	gated     *pgxpool.Pool // whose claims pass gates
	processor design.Processor
	stores    []*idem.Store
}

var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed gates.sql
	gatesSQL string
)

func newBench(ctx context.Context, pool *pgxpool.Pool) (*bench, error) {
	for _, sql := range []string{schemaSQL, gatesSQL} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			return nil, fmt.Errorf("make the tables of the clean-up: %w", err)
		}
	}
	config := pool.Config()
	config.ConnConfig.RuntimeParams["cleanup.gated"] = "on"
	gated, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &bench{pool: pool, gated: gated, processor: design.Processor{Pool: pool}}, nil
}

func (b *bench) close() {
	for _, s := range b.stores {
		s.Close()
	}
	b.gated.Close()
}

// store is one process's.
func (b *bench) store(p idem.Policy) *idem.Store { return b.storeOn(b.pool, p) }

func (b *bench) storeOn(pool *pgxpool.Pool, p idem.Policy) *idem.Store {
	s := &idem.Store{Pool: pool, Policy: p}
	b.stores = append(b.stores, s)
	return s
}
