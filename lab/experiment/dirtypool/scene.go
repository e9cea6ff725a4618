package dirtypool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// scene is a Scene on a pool of its kind.
type scene struct {
	Scene
	pool poolKind
}

// The article's pools.
const (
	narrow = 1
	wide   = 4
)

// scenes are all that is played, in the order of the tables.
func scenes() []scene {
	var all []scene
	add := func(h Handler, kind poolKind, connections int, overlap bool) {
		all = append(all, scene{Scene{h, kind.name, connections, overlap}, kind})
	}
	kinds := []poolKind{pqSQL, pgxSQL, pgxPool}
	for _, kind := range kinds {
		add(OnPool, kind, narrow, false)
		add(OnPool, kind, wide, false)
		add(OnPool, kind, wide, true)
	}
	for _, kind := range kinds {
		add(CheckedOut, kind, narrow, false)
		add(CheckedOut, kind, wide, false)
	}
	add(Product, pgxPool, narrow, false)
	add(Product, pgxPool, wide, false)
	return all
}

var (
	//go:embed reset.sql
	resetSQL string
	//go:embed survivors.sql
	survivorsSQL string
	//go:embed open_transactions.sql
	openTransactionsSQL string
)

// writes plays the scene once, on a new pool, and looks at what is left.
func (s scene) writes(ctx context.Context, observer *pgxpool.Pool) (w Writes, err error) {
	if _, err := observer.Exec(ctx, resetSQL); err != nil {
		return w, fmt.Errorf("empty the table: %w", err)
	}
	p, err := s.open(ctx, observer)
	if err != nil {
		return w, err
	}
	defer p.pool.close()
	switch s.Handler {
	case OnPool:
		err = p.onPool(ctx, s.Overlap)
	case CheckedOut:
		err = p.checkedOut(ctx)
	case Product:
		err = p.product(ctx)
	}
	if err != nil {
		return w, err
	}
	w.Steps = p.steps
	if w.LeftOpen, err = leftOpen(ctx, observer, p.pool); err != nil {
		return w, err
	}
	rows, err := observer.Query(ctx, survivorsSQL)
	if err != nil {
		return w, err
	}
	w.Survivors, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return w, err
}

func (s scene) open(ctx context.Context, observer *pgxpool.Pool) (*play, error) {
	w := new(wire)
	p, err := s.pool.open(ctx, configOf(observer, s.Connections), w)
	if err != nil {
		return nil, fmt.Errorf("open the pool: %w", err)
	}
	return &play{pool: p, wire: w, narrow: s.Connections == narrow}, nil
}

// patience bounds the wait for a connection that a pool has closed to be gone from the server.
const patience = time.Minute

var errKeepsClosed = errors.New("the server does not let go of a connection that the pool has closed")

// leftOpen counts the transactions that stand open on the pool, once the server knows what the pool has closed.
func leftOpen(ctx context.Context, observer *pgxpool.Pool, p pool) (open int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errKeepsClosed)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var connections int
		if err := observer.QueryRow(ctx, openTransactionsSQL, application).Scan(&connections, &open); err != nil {
			return 0, err
		}
		if connections == p.size() {
			return open, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
