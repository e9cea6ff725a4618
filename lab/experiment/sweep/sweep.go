// Package sweep measures retention at scale: how fast expired keys go, what claims feel of it, and what is left for autovacuum.
package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Sweep is the experiment.
type Sweep struct {
	Rows   int // expired keys, to be swept
	Beside int // finished keys that have not expired
	Batch  int // keys that one statement deletes at most
	Pairs  int // of claims beside a sweep and claims without one
	Rate   int // claims a second
}

// New is a full run.
func New() *Sweep {
	return &Sweep{Rows: 1_000_000, Batch: 2000, Pairs: 10, Rate: 200}
}

// Check reports the first size that makes no experiment.
func (s *Sweep) Check() error {
	for _, size := range []struct {
		flag         string
		value, least int
	}{
		{"batch", s.Batch, 1}, {"pairs", s.Pairs, 1}, {"rate", s.Rate, 1}, {"beside", s.Beside, 0},
		{"rows", s.Rows, 2 * s.Pairs * s.Batch},
	} {
		if size.value < size.least {
			return fmt.Errorf("--%s is %d; it must be at least %d", size.flag, size.value, size.least)
		}
	}
	if s.Batch > maxBatch {
		return fmt.Errorf("--batch is %d; it must be at most %d", s.Batch, maxBatch)
	}
	return nil
}

const (
	maxBatch   = 100_000 // that a Sweeper takes
	unfinished = 1100    // keys that nobody has finished, and no sweep may delete
	conns      = 16
)

// settings let autovacuum look every second instead of every minute: otherwise it depends on the minute whether it comes during
// the sweep.
var settings = map[string]string{"autovacuum_naptime": "1s"}

// Run measures.
func (s *Sweep) Run(ctx context.Context, b *workbench.Bench) (_ workbench.Result, err error) {
	db, err := b.Database(ctx, conns, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	t := table{pool: db.Pool}
	r := &Result{Rows: s.Rows, Beside: s.Beside, Batch: s.Batch, Unfinished: unfinished, Rate: s.Rate}
	if err := s.fill(ctx, b, t, r); err != nil {
		return nil, err
	}
	if r.FindSeconds, err = t.find(ctx); err != nil {
		return nil, err
	}
	if err := s.measure(ctx, b, db, r); err != nil {
		return nil, err
	}
	if r.Left, err = t.count(ctx); err != nil {
		return nil, err
	}
	return r, s.cleanUp(ctx, b, t, r)
}

// measure sweeps, half of the rows beside claims and the rest alone. The sweeper has connections of its own, as idem sweep has.
func (s *Sweep) measure(ctx context.Context, b *workbench.Bench, db *database.Database, r *Result) error {
	config := db.Pool.Config()
	config.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close() // which also tells what its connections have counted
	store := &idem.Store{Pool: db.Pool}
	defer store.Close()
	if err := s.pairs(ctx, b, store, pool, r); err != nil {
		return fmt.Errorf("claims beside a sweep: %w", err)
	}
	step, ended := b.Progress("swept alone, batches", s.Rows/2/s.Batch)
	defer ended()
	r.Alone, err = s.sweep(ctx, pool, 0, step)
	return err
}
