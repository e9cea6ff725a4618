// Package crash is article 003's crash test on real processes: workers that die by SIGKILL between a charge and its completion
// mark, and clients that come again. It runs the article's six designs and the product's modes and policies.
package crash

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/lab/redis"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Crash is the experiment.
type Crash struct {
	Keys    int // payments, each with a key of its own
	Kills   int // of them, those whose worker is killed
	Workers int // at work at once, each a process with one payment in hand
}

// New is the article's test.
func New() *Crash { return &Crash{Keys: 1000, Kills: 100, Workers: 8} }

// MaxWorkers may open some connections each, of the server's 400.
const MaxWorkers = 50

// The article's times, and the lease that takes the place of the first in the product.
const (
	stale = 100 * time.Millisecond // a pending key is then taken over
	retry = 120 * time.Millisecond // a client that was not answered comes again
	lease = 300 * time.Millisecond // long enough that a busy machine keeps it
)

// Check implements workbench.Experiment.
func (c *Crash) Check() error {
	switch {
	case c.Keys < 1:
		return fmt.Errorf("--keys is %d; it must be at least 1", c.Keys)
	case c.Kills < 1 || c.Kills > c.Keys:
		return fmt.Errorf("--kills is %d; it must be 1 to %d, the number of keys", c.Kills, c.Keys)
	case c.Workers < 1 || c.Workers > MaxWorkers:
		return fmt.Errorf("--workers is %d; it must be 1 to %d", c.Workers, MaxWorkers)
	}
	return nil
}

// conns is enough to count.
const conns = 4

// Run implements workbench.Experiment.
func (c *Crash) Run(ctx context.Context, b *workbench.Bench) (_ workbench.Result, err error) {
	db, err := b.Database(ctx, conns, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := stage{bench: b, pool: db.Pool}
	var server *redis.Server
	switch server, err = b.Redis(ctx); {
	case errors.As(err, &s.noRedis):
	case err != nil:
		return nil, err
	default:
		defer server.Close()
		s.redisAddress, s.redisPassword = server.Address, server.Password
	}
	programs, err := b.Programs(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, programs.Close()) }()
	if s.card, err = programs.Processor(ctx, db.Pool); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.card.Stop()) }()
	result, err := c.on(ctx, s)
	if err != nil {
		return nil, err
	}
	return result, nil
}
