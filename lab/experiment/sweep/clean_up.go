package sweep

import (
	"context"
	"time"

	"github.com/pgidem/pgidem/lab/workbench"
)

// patience is how long autovacuum may take, which on purpose works slowly.
const patience = 10 * time.Minute

// cleanUp looks at what the sweep has left, what autovacuum makes of it, and what VACUUM does then.
func (s *Sweep) cleanUp(ctx context.Context, b *workbench.Bench, t table, r *Result) error {
	swept, err := t.state(ctx, "swept")
	if err != nil {
		return err
	}
	r.States = append(r.States, swept)
	step, ended := b.Progress("cleaned up by autovacuum and VACUUM", 2)
	defer ended()
	after, err := t.autovacuumed(ctx)
	if err != nil {
		return err
	}
	r.States = append(r.States, after)
	step()
	began := time.Now()
	if err := t.vacuum(ctx); err != nil {
		return err
	}
	r.VacuumSeconds = time.Since(began).Seconds()
	last, err := t.state(ctx, "after VACUUM")
	r.States = append(r.States, last)
	step()
	return err
}

// autovacuumed is the table once autovacuum has nothing to do there, or has not come in time.
func (t table) autovacuumed(ctx context.Context) (s State, err error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		if s, err = t.state(ctx, "after autovacuum"); err != nil || !s.isDue && !s.isAtWork {
			return s, err
		}
		select {
		case <-tick.C:
		case <-bounded.Done():
			s.When = "autovacuum not done in " + patience.String()
			return s, context.Cause(ctx)
		}
	}
}
