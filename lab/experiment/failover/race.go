// Package failover loses the server that holds the claims, and promotes its replica: the case that article 003 left out.
package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/lab/workbench"
)

// Race loses the primary of three key stores: PostgreSQL with an asynchronous and with a synchronous standby, and Redis with a
// replica. The replica lags at that moment, because the link to it was parted first.
type Race struct {
	Settled int // payments of each design that are answered and copied before the link is parted
	InHand  int // payments of each design that are at the processor then
	Late    int // payments of each design that come after it, all at once
}

// New is the experiment at full size.
func New() *Race { return &Race{Settled: 200, InHand: 10, Late: 50} }

// MaxAtOnce is how many payments of a design may be late and in hand together: each may hold one of maxConnections, and so many
// designs go through a failover together.
const MaxAtOnce = 70

// Check implements workbench.Experiment.
func (r *Race) Check() error {
	switch {
	case r.Settled < 1:
		return fmt.Errorf("--settled is %d; it must be at least 1", r.Settled)
	case r.InHand < 1:
		return fmt.Errorf("--in-hand is %d; it must be at least 1", r.InHand)
	case r.Late < 1:
		return fmt.Errorf("--late is %d; it must be at least 1", r.Late)
	case r.InHand+r.Late > MaxAtOnce:
		return fmt.Errorf("--in-hand and --late are %d together; they must be at most %d, for each may hold a connection",
			r.InHand+r.Late, MaxAtOnce)
	}
	return nil
}

// Run implements workbench.Experiment.
func (r *Race) Run(ctx context.Context, bench *workbench.Bench) (_ workbench.Result, err error) {
	b, err := openBooks(ctx, bench)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	result := &Result{Settled: r.Settled, InHand: r.InHand, Late: r.Late}
	for _, of := range []struct {
		system   System
		subjects []subject
	}{{Async, onPostgres}, {Sync, onPostgres}, {Redis, onRedis}} {
		failover, err := r.failover(ctx, bench, b, of.system, of.subjects)
		if err != nil {
			return nil, fmt.Errorf("failover of %s: %w", of.system, err)
		}
		result.Failovers = append(result.Failovers, failover)
	}
	return result, nil
}

func (r *Race) failover(
	ctx context.Context, bench *workbench.Bench, b *books, system System, subjects []subject,
) (f Failover, err error) {
	began := time.Now()
	f.System = system
	p, err := newPair(ctx, bench, b, system)
	if skipped := new(workbench.ErrSkipped); errors.As(err, &skipped) {
		f.Skipped = skipped.Error()
		for _, s := range subjects {
			f.Rows = append(f.Rows, Row{Design: s.design, Ours: s.ours, Processor: s.processor})
		}
		return f, nil
	}
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	run := &run{Race: r, pair: p, books: b}
	customers := 0
	for i := range subjects {
		e := newEntrant(&subjects[i])
		run.entrants = append(run.entrants, e)
		customers += r.Settled + r.Late
		if !e.local() {
			customers += r.InHand
		}
	}
	step, ended := bench.Progress("failover: "+string(system), 2*customers)
	defer ended()
	run.step = step
	if err := run.run(ctx); err != nil {
		return f, err
	}
	for _, e := range run.entrants {
		f.Rows = append(f.Rows, e.row)
	}
	f.Check, f.Seconds = run.checks, time.Since(began).Seconds()
	return f, nil
}

func newPair(ctx context.Context, bench *workbench.Bench, b *books, system System) (pair, error) {
	if system == Redis {
		return newRedis(ctx, bench, b.card)
	}
	return newPostgres(ctx, bench, b.card, system == Sync)
}
