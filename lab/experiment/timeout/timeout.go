// Package timeout is article 004's experiment: clients that give up before a slow processor answers, and what retries then meet:
// a key of their own or the same, a wait or a 409, a key that is kept for too short or for too long, a failure that was stored or
// was not.
package timeout

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/experiment"
	"github.com/pgidem/pgidem/lab/payments"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Timeout runs the parts one after the other. A second of the article takes Second here.
type Timeout struct {
	Customers int // of the night in which the processor is slow
	Second    time.Duration
	Workers   int // of the server at which duplicates wait
	Strangers int // other customers, who come to that server meanwhile
	Payments  int // of every retry that comes late, and of every failure
}

// New is a full run.
func New() *Timeout {
	return &Timeout{Customers: 30, Second: 100 * time.Millisecond, Workers: 8, Strangers: 40, Payments: 50}
}

// The most that may be asked for: many of them hold one of the server's 400 connections.
const (
	MaxCustomers = 100
	MaxWorkers   = 50
)

// Check reports the first size that makes no experiment.
func (t *Timeout) Check() error {
	switch {
	case t.Customers < 1 || t.Customers > MaxCustomers:
		return fmt.Errorf("--customers is %d; it must be 1 to %d", t.Customers, MaxCustomers)
	case t.Second < time.Millisecond:
		return fmt.Errorf("--second is %s; it must be at least 1ms", t.Second)
	case t.Workers < 2 || t.Workers > MaxWorkers:
		return fmt.Errorf("--workers is %d; it must be 2 to %d, for one alone has the slow payment", t.Workers, MaxWorkers)
	case t.Strangers < 1:
		return fmt.Errorf("--strangers is %d; it must be at least 1", t.Strangers)
	case t.Payments < 1:
		return fmt.Errorf("--payments is %d; it must be at least 1", t.Payments)
	}
	return nil
}

// conns are enough for what runs in this process; the example's programs and the servers with few workers have their own.
const conns = 20

// Run runs the parts on a server of their own.
func (t *Timeout) Run(ctx context.Context, bench *workbench.Bench) (_ workbench.Result, err error) {
	db, err := bench.Database(ctx, conns, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	programs, err := payments.Build(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, programs.Close()) }()
	return t.measure(ctx, stage{bench: bench, pool: db.Pool, programs: programs})
}

//go:embed schema.sql
var schemaSQL string

// stage is what the parts run on.
type stage struct {
	bench    *workbench.Bench
	pool     *pgxpool.Pool // of a database with the product's schema and the lab's
	programs *payments.Programs
}

// result is one in which nothing is measured yet.
func (t *Timeout) result() *Result {
	return &Result{
		Customers: t.Customers, SecondSeconds: t.Second.Seconds(), Workers: t.Workers, Strangers: t.Strangers, Payments: t.Payments,
		ClientSeconds: experiment.NightClient, ProcessorSeconds: experiment.NightProcessor, ProxySeconds: proxySeconds,
	}
}

// prepare makes the tables that the parts need.
func (s stage) prepare(ctx context.Context) error {
	if err := design.ResetClaims(ctx, s.pool); err != nil {
		return fmt.Errorf("make the table of claims: %w", err)
	}
	if _, err := s.pool.Exec(ctx, schemaSQL); err != nil {
		return fmt.Errorf("make the experiment's tables: %w", err)
	}
	return nil
}

func (t *Timeout) measure(ctx context.Context, s stage) (*Result, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	r := t.result()
	for _, part := range []func(context.Context, stage, *Result) error{t.nights, t.waits, t.late, t.carts, t.verdicts} {
		if err := part(ctx, s, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}
