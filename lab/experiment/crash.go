package experiment

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/payments"
	"github.com/pgidem/pgidem/lab/redis"
)

// Crash is article 003's crash test on real processes: workers that die by SIGKILL between a charge and its completion mark, and
// clients that come again. It runs the article's six designs and the product's modes and policies.
type Crash struct {
	Programs *payments.Programs
	Redis    *redis.Server
	Worker   func(context.Context) *exec.Cmd // a program that runs CrashWorker on its standard input and output

	Keys    int
	Kills   int // of them, those whose worker is killed
	Workers int // at work at once, each a process with one payment in hand

	// Progress is told of every design before it starts, and what it returns of every answered key and of the end.
	Progress func(name string, keys int) (answered, ended func())
}

// The article's times, and the lease that takes the place of the first in the product.
const (
	crashStale = 100 * time.Millisecond // a pending key is then taken over
	crashRetry = 120 * time.Millisecond // a client that was not answered comes again
	crashLease = 300 * time.Millisecond // long enough that a busy machine keeps it
)

// CrashResult is what the crash test measured.
type CrashResult struct {
	Keys         int        `json:"keys"`
	Kills        int        `json:"kills"`
	Workers      int        `json:"workers"`
	StaleSeconds float64    `json:"stale_seconds"`
	RetrySeconds float64    `json:"retry_seconds"`
	LeaseSeconds float64    `json:"lease_seconds"`
	Rows         []CrashRow `json:"rows"` // a design each
}

// CrashRow is what one design made of the crashes. The charges are counted in the tables, the answers as they came.
type CrashRow struct {
	Design  string      `json:"design"`
	Ours    bool        `json:"ours"`
	Once    bool        `json:"promises_one_charge"`   // else every kill must have charged again, or nothing was shown
	Article *ArticleRow `json:"article_003,omitempty"` // nil: the article has no such row

	Kills      int     `json:"kills"` // workers that died of SIGKILL where they were to
	Charges    int     `json:"charges"`
	Duplicates int     `json:"duplicates"` // charges less the payments that were charged
	Missing    int     `json:"missing"`    // payments that were not charged
	Operator   bool    `json:"operator"`   // whether a key that is unresolved is an operator's to settle
	Unresolved int     `json:"unresolved"` // keys that nothing but an operator finishes
	Answered   int     `json:"answered"`   // payments, those that an operator has settled included
	Seconds    float64 `json:"seconds"`

	Failed       int    `json:"failed"` // requests that got an error, and were sent again
	FirstFailure string `json:"first_failure,omitempty"`
}

// ArticleRow is article 003's own figures, of 1,000 keys and 100 crashes.
type ArticleRow struct {
	Charges    int `json:"charges"`
	Duplicates int `json:"duplicates"`
}

// Run runs every design; pool is of the database that the workers use.
func (c Crash) Run(ctx context.Context, pool *pgxpool.Pool) (_ *CrashResult, err error) {
	card, err := c.Programs.Processor(ctx, pool)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, card.Stop()) }()
	result := &CrashResult{
		Keys: c.Keys, Kills: c.Kills, Workers: c.Workers,
		StaleSeconds: crashStale.Seconds(), RetrySeconds: crashRetry.Seconds(), LeaseSeconds: crashLease.Seconds(),
	}
	for i := range crashDesigns {
		row, err := c.row(ctx, pool, card, i)
		if err != nil {
			return nil, fmt.Errorf("crash: %s: %w", crashDesigns[i].label, err)
		}
		result.Rows = append(result.Rows, row)
	}
	return result, nil
}

func (c Crash) row(ctx context.Context, pool *pgxpool.Pool, card *processor.Process, i int) (CrashRow, error) {
	answered, ended := func() {}, func() {}
	if c.Progress != nil {
		answered, ended = c.Progress(fmt.Sprintf("crash: design %d of %d", i+1, len(crashDesigns)), c.Keys)
	}
	defer ended()
	d := &crashDesigns[i]
	run := crashRun{
		Crash: c, design: d, pool: pool, card: card, answered: answered,
		job: crashJob{
			Design: i, Database: pool.Config().ConnString(), Processor: card.URL,
			RedisAddress: c.Redis.Address, RedisPassword: c.Redis.Password,
		},
		row: CrashRow{Design: d.label, Ours: d.article == nil, Once: d.once, Article: d.article, Operator: d.operator},
	}
	return run.run(ctx)
}
