package experiment

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/testdb"
	"github.com/pgidem/pgidem/lab/design"
)

// delay is long enough that copies sent at one instant overlap, also on a slow machine.
const delay = 50 * time.Millisecond

// bundle is a database with the lab's tables, and a connection for each of 20 workers.
type bundle struct {
	pool *pgxpool.Pool
}

func setup(t *testing.T) *bundle {
	t.Helper()
	pool := testdb.New(t, func(c *pgxpool.Config) { c.MaxConns = 20 })
	if err := design.Install(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return &bundle{pool: pool}
}

// store is another process's store.
func (b *bundle) store(t *testing.T) *idem.Store {
	s := &idem.Store{Pool: b.pool, Policy: idem.Policy{Stale: idem.StaleRerun}}
	t.Cleanup(s.Close)
	return s
}

func (b *bundle) do(t *testing.T) design.Design {
	return design.Do{Store: b.store(t), Delay: delay}
}

func (b *bundle) hold(t *testing.T) design.Design {
	return design.Hold{Store: b.store(t), Processor: design.Processor{Pool: b.pool, Delay: delay}}
}
