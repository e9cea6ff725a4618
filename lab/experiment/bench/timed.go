package bench

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Trial is one run of one arm.
type Trial struct {
	Calls         int     `json:"calls"`
	Keys          int     `json:"keys"`    // distinct ones
	Charges       int     `json:"charges"` // rows
	ChargesWanted int     `json:"charges_wanted"`
	KeysCharged   int     `json:"keys_charged"`
	Failed        int     `json:"failed"` // calls with any answer but the right one
	FirstFailure  string  `json:"first_failure,omitempty"`
	Seconds       float64 `json:"seconds"`
	CallsASecond  float64 `json:"calls_a_second"`
}

// time sends operations through every arm by turns, after a turn each that does not count.
func (x *Bench) time(ctx context.Context, b *workbench.Bench, s *servers) (rows []Row, err error) {
	r, err := s.rig(ctx, taps{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := r.close(); err == nil {
			err = closed
		}
	}()
	var ran []int
	var turns []func(context.Context) (Trial, error)
	for _, a := range x.chosen(r.arms()) {
		rows = append(rows, Row{Arm: a.id, Name: a.name, Ours: a.ours, Skipped: a.skipped})
		if a.skipped != "" {
			continue
		}
		done, err := a.prepare(ctx, x.Operations, x.Workers)
		if err != nil {
			return nil, err
		}
		ran = append(ran, len(rows)-1)
		turns = append(turns, func(ctx context.Context) (Trial, error) { return x.trial(ctx, r.pool, a, done) })
	}
	plan := trials.Plan{Warmups: 1, Turns: x.Trials}
	step, ended := b.Progress("timed, turns", plan.Steps(len(turns)))
	defer ended()
	plan.Step = step
	results, err := trials.Run(ctx, plan, turns...)
	if err != nil {
		return nil, err
	}
	for i, row := range ran {
		rows[row].Trials = results[i]
		rows[row].CallsASecond = trials.SpreadOf(rows[row].rates())
	}
	return rows, nil
}

//go:embed charges.sql
var chargesSQL string

// trial is a turn of a, and the count of what it charged.
func (x *Bench) trial(ctx context.Context, pool *pgxpool.Pool, a arm, done []string) (t Trial, err error) {
	if err := design.Reset(ctx, pool); err != nil {
		return t, fmt.Errorf("empty the tables: %w", err)
	}
	if err := connect(ctx, pool); err != nil {
		return t, err
	}
	requests, distinct := a.keys.requests(x.Operations, x.Workers, done)
	err = a.launched(ctx, func() error {
		o := load{x.Workers, a.call}.run(ctx, requests)
		t = Trial{
			Calls: len(requests), Keys: distinct, Failed: o.Failed, FirstFailure: o.FirstFailure,
			Seconds: o.Took.Seconds(), CallsASecond: float64(len(requests)) / o.Took.Seconds(),
		}
		return ctx.Err()
	})
	if err != nil {
		return t, err
	}
	if a.pays {
		t.ChargesWanted = distinct
	}
	if err := pool.QueryRow(ctx, chargesSQL).Scan(&t.Charges, &t.KeysCharged); err != nil {
		return t, fmt.Errorf("count the charges: %w", err)
	}
	return t, nil
}

// connect opens all connections of the pool, so that a turn does not measure how they are opened.
func connect(ctx context.Context, pool *pgxpool.Pool) error {
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("open the pool's connections: %w", err)
		}
		defer conn.Release()
	}
	return nil
}
