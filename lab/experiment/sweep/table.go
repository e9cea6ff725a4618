package sweep

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/lab/trials"
)

var (
	//go:embed fill.sql
	fillSQL string
	//go:embed unfinished.sql
	unfinishedSQL string
	//go:embed vacuum.sql
	vacuumSQL string
	//go:embed checkpoint.sql
	checkpointSQL string
	//go:embed count.sql
	countSQL string
	//go:embed state.sql
	stateSQL string
)

// table is idem.keys.
type table struct{ pool *pgxpool.Pool }

// Keys are how many of each kind stand in the table.
type Keys struct {
	Expired    int `json:"expired"`
	Live       int `json:"live"`
	Unfinished int `json:"unfinished"`
}

func (t table) count(ctx context.Context) (k Keys, err error) {
	if err := t.pool.QueryRow(ctx, countSQL).Scan(&k.Expired, &k.Live, &k.Unfinished); err != nil {
		return k, fmt.Errorf("count the keys: %w", err)
	}
	return k, nil
}

// State is how the table looks from outside.
type State struct {
	When        string `json:"when"`
	LiveTuples  int64  `json:"live_tuples"` // as the server estimates them
	DeadTuples  int64  `json:"dead_tuples"`
	Autovacuums int64  `json:"autovacuums"` // so far
	TableBytes  int64  `json:"table_bytes"`
	IndexBytes  int64  `json:"index_bytes"` // of all of its indexes

	isDue, isAtWork bool // autovacuum
}

func (t table) state(ctx context.Context, when string) (State, error) {
	s := State{When: when}
	err := t.pool.QueryRow(ctx, stateSQL).Scan(
		&s.LiveTuples, &s.DeadTuples, &s.Autovacuums, &s.TableBytes, &s.IndexBytes, &s.isDue, &s.isAtWork,
	)
	if err != nil {
		return s, fmt.Errorf("look at the table: %w", err)
	}
	return s, nil
}

func (t table) vacuum(ctx context.Context) error {
	if _, err := t.pool.Exec(ctx, vacuumSQL); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	if _, err := t.pool.Exec(ctx, checkpointSQL); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// finds is how often the abandoned keys are looked for.
const finds = 21

// find is how long it takes to find the oldest abandoned keys, as the Completer and the operators look for them.
func (t table) find(ctx context.Context) (trials.Spread, error) {
	var seconds []float64
	for range finds {
		began := time.Now()
		found, err := gen.New().KeyStale(ctx, t.pool, gen.KeyStaleParams{
			Handlers: []string{"charge"}, Attempts: 10, Longest: time.Hour, Jitter: 1, Batch: unfinished,
		})
		if err == nil && len(found) != unfinished/11 {
			err = fmt.Errorf("%d were found, want %d", len(found), unfinished/11)
		}
		if err != nil {
			return trials.Spread{}, fmt.Errorf("find abandoned keys: %w", err)
		}
		seconds = append(seconds, time.Since(began).Seconds())
	}
	return trials.SpreadOf(seconds), nil
}
