package sweep

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
)

// Pass is what a sweeper did.
type Pass struct {
	Deleted      int64   `json:"deleted"`
	Skipped      int64   `json:"skipped"`
	Batches      int64   `json:"batches"`
	LargestBatch int64   `json:"largest_batch"` // keys that one statement deleted
	Seconds      float64 `json:"seconds"`
	LongestBatch float64 `json:"longest_batch_seconds"`
}

// rate is keys a second.
func (p Pass) rate() float64 { return float64(p.Deleted) / p.Seconds }

func (p *Pass) add(other Pass) {
	p.Deleted += other.Deleted
	p.Skipped += other.Skipped
	p.Batches += other.Batches
	p.LargestBatch = max(p.LargestBatch, other.LargestBatch)
	p.Seconds += other.Seconds
	p.LongestBatch = max(p.LongestBatch, other.LongestBatch)
}

// sweep sweeps until so many keys are gone; 0: all. step is told of every batch; nil: nobody is.
func (s *Sweep) sweep(ctx context.Context, pool *pgxpool.Pool, keys int64, step func()) (p Pass, err error) {
	enough := errors.New("enough")
	bounded, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	began := time.Now()
	last, deleted := began, int64(0)
	sweeper := idem.Sweeper{Pool: pool, Batch: s.Batch, Progress: func(stats idem.SweepStats) {
		now := time.Now()
		p.LongestBatch = max(p.LongestBatch, now.Sub(last).Seconds())
		p.LargestBatch = max(p.LargestBatch, stats.Deleted-deleted)
		p.Deleted, p.Skipped, p.Batches = stats.Deleted, stats.Skipped, stats.Batches
		last, deleted = now, stats.Deleted
		p.Seconds = now.Sub(began).Seconds()
		if step != nil {
			step()
		}
		if keys > 0 && stats.Deleted >= keys {
			stop(enough)
		}
	}}
	_, err = sweeper.Sweep(bounded)
	if errors.Is(context.Cause(bounded), enough) {
		err = nil
	}
	return p, err
}
