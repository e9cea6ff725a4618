package sweep

import (
	"context"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/lab/workbench"
)

// chunk is how many keys a statement inserts.
const chunk = 20_000

// fill makes the table that is to be swept, as it is some time later: vacuumed and analysed.
func (s *Sweep) fill(ctx context.Context, b *workbench.Bench, t table, r *Result) error {
	began := time.Now()
	step, ended := b.Progress("filled, thousands of keys", (s.Beside+s.Rows)/1000)
	defer ended()
	// The expired ones expired within the last while, the live ones were all finished just before now.
	const day = 24 * 60 * 60
	for _, part := range []struct {
		keys       int
		secondsAgo float64
	}{{s.Rows, day + float64(s.Rows)/1000 + 1}, {s.Beside, day/2 + float64(s.Beside)/1000}} {
		for from := 1; from <= part.keys; from += chunk {
			to := min(from+chunk-1, part.keys)
			if _, err := t.pool.Exec(ctx, fillSQL, from, to, part.secondsAgo); err != nil {
				return fmt.Errorf("fill the table: %w", err)
			}
			for range (to - from + 1) / 1000 {
				step()
			}
		}
	}
	if _, err := t.pool.Exec(ctx, unfinishedSQL, unfinished); err != nil {
		return fmt.Errorf("fill the table: %w", err)
	}
	if err := t.vacuum(ctx); err != nil {
		return err
	}
	r.FillSeconds = time.Since(began).Seconds()
	before, err := t.state(ctx, "filled and vacuumed")
	r.States = append(r.States, before)
	return err
}
