// Package experiment sends payments through designs and counts what was charged.
package experiment

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/design"
)

// Result is what one run of one design did. The charges are counted in the tables after the run, the answers as they came.
type Result struct {
	Design string `json:"design"`
	Once   bool   `json:"promises_one_charge"`

	Requests int `json:"requests"`
	Payments int `json:"payments"` // distinct ones among the requests

	Charges     int   `json:"charges"`
	Duplicates  int   `json:"duplicates"` // charges less the payments that were charged
	Missing     int   `json:"missing"`    // payments that were not charged
	AmountCents int64 `json:"amount_cents"`

	Charged      int    `json:"charged"`   // answers of requests that charged
	Replays      int    `json:"replays"`   // answers of an earlier request, given again
	InFlight     int    `json:"in_flight"` // 409: come back later
	Failed       int    `json:"failed"`    // no answer but an error
	FirstFailure string `json:"first_failure,omitempty"`
	Contradicted int    `json:"contradicted"` // payments whose answers name more than one charge

	SQLStates map[string]int `json:"sqlstates,omitempty"` // those of Failed that are PostgreSQL's errors, by their SQLSTATE

	Seconds           float64 `json:"seconds"`
	RequestsPerSecond float64 `json:"requests_per_second"`
}

// tally collects the outcomes of one run.
type tally struct {
	mu      sync.Mutex
	result  Result
	answers map[string]map[int64]bool // the charges that each payment's answers name
}

func newTally(d design.Design) *tally {
	return &tally{
		result:  Result{Design: d.Name(), Once: d.Once()},
		answers: make(map[string]map[int64]bool),
	}
}

func (t *tally) add(p design.Payment, o design.Outcome, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Requests++
	if t.answers[p.Key] == nil {
		t.answers[p.Key] = make(map[int64]bool)
	}
	if err != nil {
		t.result.Failed++
		if t.result.FirstFailure == "" {
			t.result.FirstFailure = err.Error()
		}
		if refused := new(pgconn.PgError); errors.As(err, &refused) {
			if t.result.SQLStates == nil {
				t.result.SQLStates = make(map[string]int)
			}
			t.result.SQLStates[refused.Code]++
		}
		return
	}
	switch o.Kind {
	case design.Charged:
		t.result.Charged++
	case design.Replayed:
		t.result.Replays++
	case design.InFlight:
		t.result.InFlight++
		return
	}
	t.answers[p.Key][o.ChargeID] = true
}

//go:embed count.sql
var countSQL string

// count ends the tally: it counts the charges of a run that took so long.
func (t *tally) count(ctx context.Context, pool *pgxpool.Pool, took time.Duration) (Result, error) {
	r := t.result
	r.Payments = len(t.answers)
	for _, charges := range t.answers {
		if len(charges) > 1 {
			r.Contradicted++
		}
	}
	var charged int
	if err := pool.QueryRow(ctx, countSQL).Scan(&r.Charges, &charged, &r.AmountCents); err != nil {
		return r, fmt.Errorf("count the charges: %w", err)
	}
	r.Duplicates = r.Charges - charged
	r.Missing = r.Payments - charged
	r.Seconds = took.Seconds()
	r.RequestsPerSecond = float64(r.Requests) / r.Seconds
	return r, nil
}

// prepare empties the tables and opens n connections, so that a run does not measure how they are opened.
func prepare(ctx context.Context, pool *pgxpool.Pool, n int) error {
	if err := design.Reset(ctx, pool); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	for range min(n, int(pool.Config().MaxConns)) {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("open %d connections: %w", n, err)
		}
		defer conn.Release()
	}
	return nil
}
