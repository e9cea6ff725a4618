// Package throughput is article 003's question which is faster, PostgreSQL or Redis: unique keys, many workers, no delay. And
// what the article left out: one hot key.
package throughput

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/lineup"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Throughput is the experiment.
type Throughput struct {
	Keys        int // payments, each sent once
	Workers     int // that send at once
	Connections int // to PostgreSQL, and as many to Redis
	Trials      int

	Waves int           // of as many callers as there are Workers, to one hot key
	Delay time.Duration // of a charge beside a hot key; unique keys and waves have none
}

// New is the article's, with connections that it does not name.
func New() *Throughput {
	return &Throughput{Keys: 4000, Workers: 64, Connections: 16, Trials: 5, Waves: 15, Delay: 20 * time.Millisecond}
}

// Check reports the first size that makes no experiment.
func (t *Throughput) Check() error {
	switch {
	case t.Keys < 1:
		return fmt.Errorf("--keys is %d; it must be at least 1", t.Keys)
	case t.Workers < 2:
		return fmt.Errorf("--workers is %d; it must be at least 2", t.Workers)
	case t.Connections < 1 || t.Connections > database.MaxConns:
		return fmt.Errorf("--connections is %d; it must be 1 to %d", t.Connections, database.MaxConns)
	case t.Trials < 1:
		return fmt.Errorf("--trials is %d; it must be at least 1", t.Trials)
	case t.Waves < 1:
		return fmt.Errorf("--waves is %d; it must be at least 1", t.Waves)
	case t.Delay < 0:
		return fmt.Errorf("--delay is %s; it must not be negative", t.Delay)
	}
	return nil
}

// Run measures.
func (t *Throughput) Run(ctx context.Context, b *workbench.Bench) (_ workbench.Result, err error) {
	l, err := lineup.Open(ctx, b, t.Connections)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	r := &Result{
		Keys: t.Keys, Workers: t.Workers, Connections: t.Connections, Trials: t.Trials, Waves: t.Waves, DelaySeconds: t.Delay.Seconds(),
	}
	if r.Rows, err = t.unique(ctx, b, l); err != nil {
		return nil, err
	}
	if r.Hot, err = t.hot(ctx, b, l); err != nil {
		return nil, err
	}
	if r.Crowds, err = t.crowd(ctx, b, l); err != nil {
		return nil, err
	}
	return r, nil
}
