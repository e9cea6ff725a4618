package experiment

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/design"
)

// Barrier sends one payment once from each of several workers, all released at the same instant (article 000).
type Barrier struct {
	// Workers hold a design each. Designs that share nothing are processes that share only the database.
	Workers []design.Design
	// Before is called with the payment once the tables are empty, and the workers wait for it; nil: nothing came before them.
	Before func(context.Context, design.Payment) error
	Sent   func() // called after every request, by many goroutines; nil: nobody is told
}

// Run sends the payment and counts.
func (b Barrier) Run(ctx context.Context, pool *pgxpool.Pool) (Result, error) {
	if err := prepare(ctx, pool, len(b.Workers)); err != nil {
		return Result{}, err
	}
	t := newTally(b.Workers[0])
	p := design.NewPayment("customer 1")
	if b.Before != nil {
		if err := b.Before(ctx, p); err != nil {
			return Result{}, err
		}
	}
	var ready, workers sync.WaitGroup
	release := make(chan struct{})
	for _, d := range b.Workers {
		ready.Add(1)
		workers.Go(func() {
			ready.Done()
			<-release
			o, err := d.Pay(ctx, p)
			t.add(p, o, err)
			if b.Sent != nil {
				b.Sent()
			}
		})
	}
	ready.Wait()
	began := time.Now()
	close(release)
	workers.Wait()
	took := time.Since(began)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	return t.count(ctx, pool, took)
}
