// Package dirtypool is article 000's experiment with a transaction that is begun on a pool of connections instead of on one of
// them: whose rows its ROLLBACK takes.
package dirtypool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/workbench"
)

// DirtyPool runs two handlers on one pool, statement by statement in a stated order: A begins, inserts and rolls back, and B
// inserts a row that has nothing to do with it.
type DirtyPool struct {
	Rounds int // of each order, each on a new pool
}

// New is a full run.
func New() *DirtyPool { return &DirtyPool{Rounds: 20} }

// Check reports the first size that makes no experiment.
func (d *DirtyPool) Check() error {
	if d.Rounds < 1 {
		return fmt.Errorf("--rounds is %d; it must be at least 1", d.Rounds)
	}
	return nil
}

//go:embed schema.sql
var schemaSQL string

// Run plays every order on every pool.
func (d *DirtyPool) Run(ctx context.Context, bench *workbench.Bench) (_ workbench.Result, err error) {
	db, err := bench.Database(ctx, observers, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Pool.Exec(ctx, schemaSQL); err != nil {
		return nil, fmt.Errorf("make the tables of the dirty pool: %w", err)
	}
	result := &Result{Rounds: d.Rounds}
	step, ended := bench.Progress("dirty pool", len(scenes())*(d.Rounds+1))
	defer ended()
	for _, s := range scenes() {
		if err := d.play(ctx, db, s, result, step); err != nil {
			return nil, fmt.Errorf("%s, %s, %d connections: %w", s.Handler, s.pool.name, s.Connections, err)
		}
	}
	return result, nil
}

// observers are the connections of who only looks.
const observers = 2

// play runs a scene's rounds, then the lock, and adds what came of them.
func (d *DirtyPool) play(ctx context.Context, db *database.Database, s scene, result *Result, step func()) error {
	total := Writes{Scene: s.Scene}
	for range d.Rounds {
		w, err := s.writes(ctx, db.Pool)
		if err != nil {
			return err
		}
		total.add(w)
		step()
	}
	result.Writes = append(result.Writes, total)
	defer step()
	if !s.locks() {
		return nil
	}
	l, err := s.lock(ctx, db.Pool)
	result.Locks = append(result.Locks, l)
	return err
}
