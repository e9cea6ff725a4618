package crash

import (
	"context"
	_ "embed"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/pgidem/pgidem/lab/design"
)

// run is one design at work.
type run struct {
	*Crash
	stage
	variant  *variant
	job      job
	answered func()

	mu      sync.Mutex
	row     Row
	unknown []*customer // left to an operator
	takenUp int         // customers
}

// customer is the client of one payment, who comes again until it is answered.
type customer struct {
	payment design.Payment
	die     design.Point // what the worker does that gets the payment first
	began   time.Time
	due     time.Time // when to come again

	takenUp bool
}

//go:embed count.sql
var countSQL string

// bound is how long a design may take: a worker that hangs ends with it.
const bound = 5 * time.Minute

func (r *run) run(ctx context.Context) (Row, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("it is not done after %s", bound))
	defer cancel()
	if err := r.prepare(ctx); err != nil {
		return r.row, err
	}
	began := time.Now()
	if err := r.serveAll(ctx); err != nil {
		return r.row, err
	}
	keys, err := r.unresolved(ctx)
	if err != nil {
		return r.row, err
	}
	r.row.Unresolved = len(keys)
	if r.variant.operator {
		if err := r.settle(ctx, keys); err != nil {
			return r.row, err
		}
		if err := r.serve(ctx, r.unknown); err != nil {
			return r.row, err
		}
	}
	r.row.Seconds = time.Since(began).Seconds()
	if _, err := r.card.Landed(ctx); err != nil {
		return r.row, err
	}
	return r.row, r.count(ctx)
}

func (r *run) prepare(ctx context.Context) error {
	if err := design.Reset(ctx, r.pool); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	if err := design.ResetClaims(ctx, r.pool); err != nil {
		return fmt.Errorf("empty the tables: %w", err)
	}
	if err := r.card.Become(ctx, r.variant.processor); err != nil {
		return err
	}
	return r.card.Reset(ctx)
}

// serveAll serves every customer, in shuffled order.
func (r *run) serveAll(ctx context.Context) error {
	all := make([]*customer, r.Keys)
	for i := range all {
		all[i] = &customer{payment: design.NewPayment(fmt.Sprintf("customer %d", i+1))}
		if i < r.Kills {
			all[i].die = r.variant.points[i%len(r.variant.points)]
		}
	}
	if r.variant.late() {
		return r.serveLate(ctx, all[:r.Kills], all[r.Kills:])
	}
	mathrand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return r.serve(ctx, all)
}

// serveLate serves those who are to be killed last, at a processor that holds the first call of each key until takesUp. They come
// again once all of these calls have arrived.
func (r *run) serveLate(ctx context.Context, victims, others []*customer) error {
	if err := r.serve(ctx, others); err != nil {
		return err
	}
	slow := r.variant.processor
	slow.Hold, slow.SlowCall = true, 1
	if err := r.card.Become(ctx, slow); err != nil {
		return err
	}
	if err := r.serve(ctx, victims); err != nil {
		return err
	}
	for tick := time.NewTicker(time.Millisecond); ; {
		stats, err := r.card.Stats(ctx)
		switch {
		case err != nil:
			return err
		case stats.Pending >= int64(r.Kills):
			return r.serve(ctx, victims)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takesUp counts the customers who are answered, or told that the processor is at it, and lets what it holds land when all are.
func (r *run) takesUp(ctx context.Context, c *customer) error {
	if !r.variant.late() || c.takenUp {
		return nil
	}
	c.takenUp = true
	r.mu.Lock()
	r.takenUp++
	all := r.takenUp == r.Keys
	r.mu.Unlock()
	if !all {
		return nil
	}
	return r.card.Become(ctx, r.variant.processor)
}

func (r *run) count(ctx context.Context) error {
	var charged, pending int
	if err := r.pool.QueryRow(ctx, countSQL).Scan(&r.row.Charges, &charged, &pending); err != nil {
		return fmt.Errorf("count the charges: %w", err)
	}
	r.row.Duplicates = r.row.Charges - charged
	r.row.Missing = r.Keys - charged
	r.row.Unresolved += pending
	return nil
}
