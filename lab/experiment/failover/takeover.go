package failover

import (
	"context"
	"fmt"
	"maps"
	mathrand "math/rand/v2"

	"github.com/pgidem/pgidem/lab/design"
)

// lose kills the primary, promotes the replica, and looks at what each had. Whoever was at work is gone; their claims lapse.
func (r *run) lose(ctx context.Context) (err error) {
	if r.seen.before, err = r.pair.primary().claims(ctx); err != nil {
		return err
	}
	r.end()
	if err := r.pair.promote(ctx); err != nil {
		return err
	}
	if r.seen.after, err = r.pair.replica().claims(ctx); err != nil {
		return err
	}
	if r.checks != nil {
		r.checks.Promoted, _ = r.pair.replica().check(ctx)
	}
	if r.seen.standing, err = r.charged(ctx); err != nil {
		return err
	}
	return r.pair.replica().lapse(ctx)
}

// comeAgain sends every payment once more, whatever its customer was told, and counts.
func (r *run) comeAgain(ctx context.Context, shop *shop) (err error) {
	for _, e := range r.entrants {
		if err := r.books.behave(e.processor, false); err != nil {
			return err
		}
		before, err := r.books.refused(ctx)
		if err != nil {
			return err
		}
		if err := r.sendAgain(ctx, e, shop.design(e.subject)); err != nil {
			return err
		}
		after, err := r.books.refused(ctx)
		if err != nil {
			return err
		}
		e.row.Refused = after - before
	}
	if r.seen.final, err = r.charged(ctx); err != nil {
		return err
	}
	for _, e := range r.entrants {
		e.count(r.seen)
	}
	return nil
}

// sendAgain sends one design's payments once more.
func (r *run) sendAgain(ctx context.Context, e *entrant, d design.Design) error {
	mathrand.Shuffle(len(e.customers), func(i, j int) { e.customers[i], e.customers[j] = e.customers[j], e.customers[i] })
	each(e.customers, workers, func(c *customer) {
		if ctx.Err() == nil {
			c.again, c.failed = d.Pay(ctx, c.payment)
			r.step()
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, c := range e.customers {
		if err := c.helped(); err != nil {
			return fmt.Errorf("%s: a customer comes again and is told: %w", e.subject.design, err)
		}
	}
	return nil
}

// charged counts the charges, wherever they are made. Those in the primary's tables went with it.
func (r *run) charged(ctx context.Context) (map[string]charged, error) {
	all, err := r.books.charged(ctx)
	if err != nil {
		return nil, err
	}
	orders, err := r.pair.replica().orders(ctx)
	maps.Copy(all, orders) // other designs' payments
	return all, err
}
