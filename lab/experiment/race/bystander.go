package race

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/workbench"
)

// Bystander is a report that reads accounts, next to payments that touch none of them.
type Bystander struct {
	Isolation      pgx.TxIsoLevel `json:"isolation"` // of its transactions
	Payments       pgx.TxIsoLevel `json:"payments"`  // of check-then-insert next to it
	PredicateLocks int            `json:"predicate_locks"`
	PerSecond      []float64      `json:"transactions_per_second"` // in each round
	Paid           int            `json:"payments_made"`           // in all rounds, each under a key of its own
	RunAgain       int            `json:"payments_run_again"`      // transactions of theirs, after a 40001
}

const (
	readers      = 4
	payers       = 8
	connections  = readers + payers + 1  // who counts the locks
	payerDelay   = 10 * time.Millisecond // of a charge: it sets how many are paid, whatever a transaction costs
	readsEach    = 3                     // times that a transaction of the bystander reads
	charges      = 20_000                // of earlier days
	accounts     = 100_000
	accountsRead = 100 // at a time
)

var (
	//go:embed accounts.sql
	accountsSQL string
	//go:embed analyze.sql
	analyzeSQL string
	//go:embed read_accounts.sql
	readAccountsSQL string
	//go:embed predicate_locks.sql
	predicateLocksSQL string
)

// bystanders measures three, in short rounds that take turns, so that what else the machine does meets all alike.
func (r *Race) bystanders(ctx context.Context, bench *workbench.Bench, pool *pgxpool.Pool) ([]Bystander, error) {
	if err := furnish(ctx, pool); err != nil {
		return nil, fmt.Errorf("fill the bystander's tables: %w", err)
	}
	all := []Bystander{baseline, beside, inside}
	step, ended := bench.Progress("race: a bystander", r.Rounds*len(all))
	defer ended()
	for round := range r.Rounds {
		for i := range all {
			b := &all[(i+round)%len(all)] // nobody is always first
			if err := b.round(ctx, pool, r.Round); err != nil {
				return nil, fmt.Errorf("bystander under %s, payments under %s: %w", b.Isolation, b.Payments, err)
			}
			step()
		}
	}
	return all, nil
}

// furnish makes the accounts, and charges of earlier days.
func furnish(ctx context.Context, pool *pgxpool.Pool) error {
	if err := design.Reset(ctx, pool); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, accountsSQL); err != nil {
		return err
	}
	columns := []string{"idempotency_key", "customer", "amount_cents"}
	earlier := pgx.CopyFromSlice(charges, func(int) ([]any, error) {
		p := design.NewPayment("an earlier customer")
		return []any{p.Key, p.Customer, p.AmountCents}, nil
	})
	if _, err := pool.CopyFrom(ctx, pgx.Identifier{"lab", "charges"}, columns, earlier); err != nil {
		return err
	}
	_, err := pool.Exec(ctx, analyzeSQL)
	return err
}

// round lasts for so long.
func (b *Bystander) round(ctx context.Context, pool *pgxpool.Pool, long time.Duration) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var (
		read, paid, again atomic.Int64
		all               sync.WaitGroup
		began             = time.Now()
	)
	repeat := func(n int, done *atomic.Int64, do func() error) {
		for range n {
			all.Go(func() {
				for ctx.Err() == nil && time.Since(began) < long {
					if err := do(); err != nil {
						fail(err)
						return
					}
					done.Add(1)
				}
			})
		}
	}
	pay := design.Retry{
		Design:  design.CheckThenInsert{Pool: pool, Delay: payerDelay, Isolation: b.Payments},
		Refused: func() { again.Add(1) },
	}
	repeat(payers, &paid, func() error {
		_, err := pay.Pay(ctx, design.NewPayment("customer 1"))
		return err
	})
	repeat(readers, &read, func() error { return b.report(ctx, pool, func(pgx.Tx) error { return nil }) })
	if err := b.report(ctx, pool, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, predicateLocksSQL).Scan(&b.PredicateLocks)
	}); err != nil {
		fail(err)
	}
	all.Wait()
	b.PerSecond = append(b.PerSecond, float64(read.Load())/time.Since(began).Seconds())
	b.Paid += int(paid.Load())
	b.RunAgain += int(again.Load())
	return context.Cause(ctx)
}

// report is one transaction of the bystander; and is called at its end, while it is open.
func (b *Bystander) report(ctx context.Context, pool *pgxpool.Pool, and func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: b.Isolation}, func(tx pgx.Tx) error {
		for range readsEach {
			var cents int64
			if err := tx.QueryRow(ctx, readAccountsSQL, 1+rand.IntN(accounts-accountsRead)).Scan(&cents); err != nil {
				return err
			}
		}
		return and(tx)
	})
}

// quartiles are those of the rounds.
func (b Bystander) quartiles() (lower, median, upper float64) { return quartiles(b.PerSecond) }

func quartiles(values []float64) (lower, median, upper float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0, 0, 0
	}
	return sorted[n/4], sorted[n/2], sorted[3*n/4]
}
