package bench

import (
	"context"
	_ "embed"
	"errors"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"
)

// flows is DBOS Transact's: the key is the id of a workflow of one transaction, which charges. Its own tables are in the same
// database, so that charge and checkpoint share a transaction. It is launched for its turns alone, since it works in the
// background, on a pool of its own with one connection more: the one on which it listens.
type flows struct {
	beside *pgxpool.Pool // the other arms'
	open   func(ctx context.Context) (*pgxpool.Pool, error)
	pool   *pgxpool.Pool // while it is launched
	flow   dbos.Context
	source *dbos.DataSource
}

const (
	// shutdown is how long a background task of DBOS may take to end.
	shutdown  = 10 * time.Second
	flowsName = "dbos"
)

//go:embed connected.sql
var connectedSQL string

func (f *flows) launch(ctx context.Context) (end func() error, err error) {
	if f.pool, err = f.open(ctx); err != nil {
		return nil, err
	}
	f.flow, err = dbos.NewContext(ctx, dbos.Config{
		AppName: "pgidem-lab", ApplicationVersion: "1", SystemDBPool: f.pool, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.pool.Close()
		return nil, err
	}
	end = func() error {
		f.pool = nil
		return errors.Join(dbos.Shutdown(f.flow, shutdown), f.gone(ctx)) // the former closes the pool
	}
	if f.source, err = dbos.NewDataSource(f.flow, f.pool); err != nil {
		return nil, errors.Join(err, end())
	}
	dbos.RegisterWorkflow(f.flow, f.pay)
	if err := dbos.Launch(f.flow); err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// gone returns when the server has no connection of DBOS any more, so that nothing of it is left in the next turn.
func (f *flows) gone(ctx context.Context) error {
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		connected := 0
		if err := f.beside.QueryRow(ctx, connectedSQL, flowsName).Scan(&connected); err != nil || connected == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *flows) pay(ctx dbos.Context, key string) (string, error) {
	return dbos.RunAsTransaction(ctx, f.source, func(ctx context.Context, tx dbos.Tx) (string, error) {
		var id int64
		return string(answer), tx.QueryRow(ctx, chargeSQL, key).Scan(&id)
	})
}

func (f *flows) run(_ context.Context, key string) error {
	handle, err := dbos.RunWorkflow(f.flow, f.pay, key, dbos.WithWorkflowID(key))
	if err != nil {
		return err
	}
	got, err := handle.GetResult()
	if err == nil && got != string(answer) {
		return errAnswer
	}
	return err
}
