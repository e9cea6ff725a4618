package model

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/testdb"
)

// bundle is a database with the clients' own table, and a process for each client that lives until it is killed.
type bundle struct {
	t         *testing.T
	ctx       context.Context
	control   *pgxpool.Pool // the test's own: what time does, and what nobody kills
	clients   [clients]*process
	shared    shared
	remaining sync.WaitGroup // dead processes that are not yet still
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, ctx: context.Background(), control: testdb.New(t)}
	if _, err := b.control.Exec(b.ctx, "CREATE TABLE effects (tenant text NOT NULL, key text NOT NULL, id text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	for n := range b.clients {
		b.clients[n] = newProcess(b.control.Config(), new(fuses), &b.shared)
	}
	t.Cleanup(func() {
		for _, p := range b.clients {
			p.close()
		}
		b.remaining.Wait()
	})
	return b
}

// restart gives a client whose process has died a new one.
func (b *bundle) restart(n int) {
	dead := b.clients[n]
	b.remaining.Go(dead.close)
	dead.fuses.renew()
	b.clients[n] = newProcess(b.control.Config(), dead.fuses, &b.shared)
}
