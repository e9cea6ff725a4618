package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
)

// Demo is the storm of article 003 and the barrier of article 000, through designs that charge twice and through the product.
type Demo struct {
	Payments int           // of the storm
	Copies   int           // of each payment in the storm
	Workers  int           // of the storm
	Delay    time.Duration // of a charge

	// Progress is told of every run before it starts, and what it returns of every request and of the end.
	Progress func(name string, requests int) (sent, ended func())
}

// The barrier is article 000's.
const (
	barrierWorkers = 8
	barrierTrials  = 3
)

// Conns is how many connections every design of the demo has: one a worker.
func (d Demo) Conns() int { return max(d.Workers, barrierWorkers) }

// DemoResult is what the demo measured.
type DemoResult struct {
	Conns        int      `json:"connections"`
	Workers      int      `json:"workers"`
	Copies       int      `json:"copies"`
	DelaySeconds float64  `json:"delay_seconds"`
	Storm        []Result `json:"storm"`   // a design each
	Barrier      []Trials `json:"barrier"` // a design each
}

// Trials are the barrier's runs of one design.
type Trials []Result

// Run runs it all; pool should have Conns connections.
func (d Demo) Run(ctx context.Context, pool *pgxpool.Pool) (*DemoResult, error) {
	result := &DemoResult{
		Conns:        int(pool.Config().MaxConns),
		Workers:      d.Workers,
		Copies:       d.Copies,
		DelaySeconds: d.Delay.Seconds(),
	}
	if err := d.storm(ctx, pool, result); err != nil {
		return nil, err
	}
	return result, d.barrier(ctx, pool, result)
}

func (d Demo) storm(ctx context.Context, pool *pgxpool.Pool, result *DemoResult) error {
	store := &idem.Store{Pool: pool}
	defer store.Close()
	// The processor refuses a repeated key, so an abandoned payment may be asked for again.
	rerun := store.With(idem.Policy{Stale: idem.StaleRerun})
	for _, one := range []design.Design{
		design.None{Pool: pool, Delay: d.Delay},
		design.CheckThenAct{Pool: pool, Delay: d.Delay},
		design.Do{Store: store, Delay: d.Delay},
		design.Hold{Store: rerun, Processor: design.Processor{Pool: pool, Delay: d.Delay}},
	} {
		sent, ended := d.progress("storm: "+one.Name(), d.Payments*d.Copies)
		run := Storm{Payments: d.Payments, Copies: d.Copies, Workers: d.Workers, Sent: sent}
		r, err := run.Run(ctx, pool, one)
		ended()
		if err != nil {
			return fmt.Errorf("storm: %s: %w", one.Name(), err)
		}
		result.Storm = append(result.Storm, r)
	}
	return nil
}

func (d Demo) barrier(ctx context.Context, pool *pgxpool.Pool, result *DemoResult) error {
	var naive, ours []design.Design
	for range barrierWorkers {
		store := &idem.Store{Pool: pool} // a worker's own, so that no memory is shared and the database alone decides
		defer store.Close()
		naive = append(naive, design.CheckThenInsert{Pool: pool, Delay: d.Delay})
		ours = append(ours, design.Do{Store: store, Delay: d.Delay})
	}
	for _, workers := range [][]design.Design{naive, ours} {
		name := workers[0].Name()
		sent, ended := d.progress("barrier: "+name, barrierTrials*barrierWorkers)
		var trials Trials
		for range barrierTrials {
			r, err := Barrier{Workers: workers, Sent: sent}.Run(ctx, pool)
			if err != nil {
				ended()
				return fmt.Errorf("barrier: %s: %w", name, err)
			}
			trials = append(trials, r)
		}
		ended()
		result.Barrier = append(result.Barrier, trials)
	}
	return nil
}

func (d Demo) progress(name string, requests int) (sent, ended func()) {
	if d.Progress == nil {
		return nil, func() {}
	}
	return d.Progress(name, requests)
}
