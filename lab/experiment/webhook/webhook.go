// Package webhook is article 000's "Webhooks are a different ledger": a pretended payment provider delivers its events, each at
// least once, to receivers with different ledgers, and what they have done is counted.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/workbench"
)

// Webhook delivers the events of Payments to every receiver three times over: as they come, with each one's deliveries at once;
// two deliveries of an event that interleave; and with a process that is killed while it has deliveries in hand.
type Webhook struct {
	Payments int           // of each part
	Copies   int           // deliveries of an event at once
	Work     time.Duration // what it takes to fulfil an event
	InHand   int           // deliveries that a process has in hand when it is killed
}

// New is a full run.
func New() *Webhook {
	return &Webhook{Payments: 200, Copies: 4, Work: 20 * time.Millisecond, InHand: 20}
}

// The most that may be asked for: a delivery at work holds one of the server's 400 connections.
const (
	MaxCopies = 16
	MaxInHand = 100
)

const (
	atOnce     = 20 // payments whose events are on their way at the same time
	spareConns = 10 // for what counts, and for a Store's own
)

// Check reports the first size that makes no experiment.
func (w *Webhook) Check() error {
	switch {
	case w.Payments < 1:
		return fmt.Errorf("--payments is %d; it must be at least 1", w.Payments)
	case w.Copies < 2 || w.Copies > MaxCopies:
		return fmt.Errorf("--copies is %d; it must be 2 to %d, for an event delivered once needs no ledger", w.Copies, MaxCopies)
	case w.Work < 0:
		return fmt.Errorf("--work is %s; it must not be negative", w.Work)
	case w.InHand < 1 || w.InHand > MaxInHand:
		return fmt.Errorf("--in-hand is %d; it must be 1 to %d", w.InHand, MaxInHand)
	}
	return nil
}

// Run runs the three parts on a server of their own.
func (w *Webhook) Run(ctx context.Context, bench *workbench.Bench) (_ workbench.Result, err error) {
	if bench.Self == nil {
		return nil, errors.New("the bench cannot start the lab's program again, and this experiment kills processes")
	}
	db, err := bench.Database(ctx, max(atOnce*w.Copies, w.InHand)+spareConns, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return w.measure(ctx, bench, db.Pool)
}

// measure runs the parts in a database that has the product's schema.
func (w *Webhook) measure(ctx context.Context, bench *workbench.Bench, pool *pgxpool.Pool) (*Result, error) {
	if _, err := pool.Exec(ctx, schemaSQL); err != nil {
		return nil, fmt.Errorf("make the shop's tables: %w", err)
	}
	result := &Result{Payments: w.Payments, Copies: w.Copies, WorkSeconds: w.Work.Seconds(), InHand: w.InHand}
	for _, part := range []func(context.Context, *workbench.Bench, *pgxpool.Pool, *Result) error{w.keys, w.pairs, w.deaths} {
		if err := part(ctx, bench, pool, result); err != nil {
			return nil, err
		}
	}
	return result, nil
}
