package sweep

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Claims is how long claims took that came in one half of a pair.
type Claims struct {
	Calls          int     `json:"calls"`
	Failed         int     `json:"failed"`
	FirstFailure   string  `json:"first_failure,omitempty"`
	MedianSeconds  float64 `json:"median_seconds"`
	P95Seconds     float64 `json:"p95_seconds"`
	LongestSeconds float64 `json:"longest_seconds"`
}

// Pair is claims beside a sweep, and as long without one.
type Pair struct {
	Sweep   Pass   `json:"sweep"`
	Beside  Claims `json:"beside"`
	Without Claims `json:"without"`
}

// pairs takes half of the expired keys in as many sweeps as there are pairs.
func (s *Sweep) pairs(ctx context.Context, b *workbench.Bench, store *idem.Store, pool *pgxpool.Pool, r *Result) error {
	share := int64(s.Rows / 2 / s.Pairs)
	step, ended := b.Progress("claims beside a sweep, pairs", s.Pairs)
	defer ended()
	r.Warmup = s.without(ctx, store, time.Second) // opens the connections
	long := time.Second
	for i := range s.Pairs {
		var p Pair
		var err error
		// Whichever comes second finds what the first has left: so each does in turn.
		if i%2 == 1 {
			p.Without = s.without(ctx, store, long)
		}
		if p.Sweep, p.Beside, err = s.beside(ctx, store, pool, share); err != nil {
			return err
		}
		long = time.Duration(p.Sweep.Seconds * float64(time.Second))
		if i%2 == 0 {
			p.Without = s.without(ctx, store, long)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.Pairs = append(r.Pairs, p)
		r.BesideAll.add(p.Sweep)
		step()
	}
	r.compare()
	return nil
}

// beside makes claims while so many keys are swept.
func (s *Sweep) beside(ctx context.Context, store *idem.Store, pool *pgxpool.Pool, keys int64) (p Pass, _ Claims, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		p, err = s.sweep(ctx, pool, keys, nil)
	}()
	c := s.claim(ctx, store, done)
	<-done
	return p, c.sum(), err
}

// without makes claims for so long.
func (s *Sweep) without(ctx context.Context, store *idem.Store, long time.Duration) Claims {
	bounded, stop := context.WithTimeout(ctx, long)
	defer stop()
	return s.claim(ctx, store, bounded.Done()).sum()
}

func (c *claims) sum() Claims {
	sum := Claims{Calls: len(c.seconds), Failed: c.failed, FirstFailure: c.first}
	slices.Sort(c.seconds)
	last := len(c.seconds) - 1
	sum.MedianSeconds = trials.SpreadOf(c.seconds).Median
	sum.P95Seconds, sum.LongestSeconds = c.seconds[last*95/100], c.seconds[last]
	return sum
}
