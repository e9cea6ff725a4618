// Package race is article 000's experiment: one payment from several workers at the same instant, through a design each time.
package race

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/lab/database"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Race sends one payment under one key from Workers at once, Trials times through every design, and then measures what
// SERIALIZABLE costs transactions that have nothing to do with payments.
type Race struct {
	Workers int
	Trials  int
	Delay   time.Duration // of a charge: long enough that workers which start together overlap
	Rounds  int           // of the bystander, interleaved
	Round   time.Duration // how long one lasts
}

// New is the article's race.
func New() *Race {
	return &Race{Workers: 8, Trials: 3, Delay: 50 * time.Millisecond, Rounds: 21, Round: 250 * time.Millisecond}
}

// MaxWorkers is how many may race: each may open some connections, of the 400 that the server has.
const MaxWorkers = 50

// Check reports the first size that makes no experiment.
func (r *Race) Check() error {
	switch {
	case r.Workers < 2 || r.Workers > MaxWorkers:
		return fmt.Errorf("--workers is %d; it must be 2 to %d, for one alone races with nobody", r.Workers, MaxWorkers)
	case r.Trials < 1:
		return fmt.Errorf("--trials is %d; it must be at least 1", r.Trials)
	case r.Delay < 0:
		return fmt.Errorf("--delay is %s; it must not be negative", r.Delay)
	case r.Rounds < 1:
		return fmt.Errorf("--rounds is %d; it must be at least 1", r.Rounds)
	case r.Round <= 0:
		return fmt.Errorf("--round is %s; it must be above 0", r.Round)
	}
	return nil
}

// Run runs every design, then the bystander, on a server of their own.
func (r *Race) Run(ctx context.Context, bench *workbench.Bench) (_ workbench.Result, err error) {
	db, err := bench.Database(ctx, max(r.Workers, connections), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	result := &Result{
		Workers: r.Workers, Trials: r.Trials, DelaySeconds: r.Delay.Seconds(),
		Rounds: r.Rounds, RoundSeconds: r.Round.Seconds(),
	}
	if result.Designs, err = r.designs(ctx, bench, db); err != nil {
		return nil, err
	}
	if result.Bystanders, err = r.bystanders(ctx, bench, db.Pool); err != nil {
		return nil, err
	}
	return result, nil
}

func (r *Race) designs(ctx context.Context, bench *workbench.Bench, db *database.Database) ([]Design, error) {
	if err := design.ResetClaims(ctx, db.Pool); err != nil {
		return nil, fmt.Errorf("make the table of keys: %w", err)
	}
	var shop stores
	defer shop.Close()
	entries := r.entries(db.Pool, &shop)
	step, ended := bench.Progress("race: one key, several workers", len(entries)*r.Trials*r.Workers)
	defer ended()
	var designs []Design
	for _, e := range entries {
		d, err := r.design(ctx, db.Pool, e, step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		designs = append(designs, d)
	}
	return designs, nil
}
