package crash

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/workbench"
)

// stage is what the designs run on.
type stage struct {
	bench *workbench.Bench
	pool  *pgxpool.Pool // of the database that the workers use
	card  *processor.Process

	redisAddress, redisPassword string
	noRedis                     *workbench.ErrSkipped // set: there is none
}

// on runs every design.
func (c *Crash) on(ctx context.Context, s stage) (*Result, error) {
	result := &Result{
		Keys: c.Keys, Kills: c.Kills, Workers: c.Workers,
		StaleSeconds: stale.Seconds(), RetrySeconds: retry.Seconds(), LeaseSeconds: lease.Seconds(),
	}
	for i := range variants {
		row, err := c.row(ctx, s, i)
		if err != nil {
			return nil, fmt.Errorf("crash: %s: %w", variants[i].label, err)
		}
		result.Rows = append(result.Rows, row)
	}
	return result, nil
}

func (c *Crash) row(ctx context.Context, s stage, i int) (Row, error) {
	v := &variants[i]
	if v.redis && s.noRedis != nil {
		row := v.row()
		row.Skipped = s.noRedis.Error()
		return row, nil
	}
	answered, ended := s.bench.Progress(fmt.Sprintf("crash: design %d of %d", i+1, len(variants)), c.Keys)
	defer ended()
	r := run{
		Crash: c, stage: s, variant: v, answered: answered,
		job: job{
			Variant: i, Database: s.pool.Config().ConnString(), Processor: s.card.URL,
			RedisAddress: s.redisAddress, RedisPassword: s.redisPassword,
		},
		row: v.row(),
	}
	return r.run(ctx)
}
