package experiment

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/design"
)

// Storm sends every payment several times, in shuffled order, from many workers at once (article 003). A worker sends its next
// request when the last is answered, and does not repeat one that got a 409.
type Storm struct {
	Payments int
	Copies   int // of each payment
	Workers  int
	Sent     func() // called after every request, by many goroutines; nil: nobody is told
	// Settled returns once everything asked for has taken effect; nil: it has when it is answered.
	Settled func(context.Context) error
}

// Run sends the storm through d and counts.
func (s Storm) Run(ctx context.Context, pool *pgxpool.Pool, d design.Design) (Result, error) {
	if err := prepare(ctx, pool, s.Workers); err != nil {
		return Result{}, err
	}
	queue := make(chan design.Payment, s.Payments*s.Copies)
	for _, p := range s.requests() {
		queue <- p
	}
	close(queue)

	t := newTally(d)
	var workers sync.WaitGroup
	began := time.Now()
	for range s.Workers {
		workers.Go(func() {
			for p := range queue {
				if ctx.Err() != nil {
					return
				}
				o, err := d.Pay(ctx, p)
				t.add(p, o, err)
				if s.Sent != nil {
					s.Sent()
				}
			}
		})
	}
	workers.Wait()
	took := time.Since(began)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if s.Settled != nil {
		if err := s.Settled(ctx); err != nil {
			return Result{}, err
		}
	}
	return t.count(ctx, pool, took)
}

// requests are all copies of all payments, shuffled.
func (s Storm) requests() []design.Payment {
	requests := make([]design.Payment, 0, s.Payments*s.Copies)
	for i := range s.Payments {
		p := design.NewPayment(fmt.Sprintf("customer %d", i+1))
		for range s.Copies {
			requests = append(requests, p)
		}
	}
	mathrand.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	return requests
}
