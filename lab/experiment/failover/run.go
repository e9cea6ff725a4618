package failover

import (
	"context"
	"fmt"

	"github.com/pgidem/pgidem/lab/design"
)

// run is one failover, which all designs go through together.
type run struct {
	*Race
	pair     pair
	books    *books
	entrants []*entrant
	step     func() // one customer was answered, or has come again

	seen   seen
	checks *Checks // nil: no Store could be on it
}

const (
	workers    = 16 // customers who are served at once where it does not matter
	spareConns = 16 // of a shop, beside those that may be busy
)

// run goes through the story and counts.
func (r *run) run(ctx context.Context) error {
	first, err := r.pair.primary().open(ctx, "first", workers+len(r.entrants)*r.InHand+spareConns)
	if err != nil {
		return err
	}
	defer first.close()
	late, err := r.pair.primary().open(ctx, lateShop, len(r.entrants)*r.Late+spareConns)
	if err != nil {
		return err
	}
	defer late.close()
	defer r.end()
	designs := make([]design.Design, len(r.entrants))
	for i, e := range r.entrants {
		designs[i] = first.design(e.subject)
	}
	if err := r.settle(ctx, designs); err != nil {
		return err
	}
	if err := r.takeInHand(ctx, designs); err != nil {
		return err
	}
	r.check(ctx)
	r.pair.part()
	if err := r.goOn(ctx, late); err != nil {
		return err
	}
	if err := r.lose(ctx); err != nil {
		return err
	}
	second, err := r.pair.replica().open(ctx, "second", workers+spareConns)
	if err != nil {
		return err
	}
	defer second.close()
	return r.comeAgain(ctx, second)
}

// end waits for the primary's customers, who wait for commits and for the processor whatever becomes of a context.
func (r *run) end() {
	r.pair.kill()
	_ = r.books.letGo() // a processor at its best can be no error
	for _, e := range r.entrants {
		e.callers.Wait()
	}
}

// settle answers some payments of each design, with everything in order.
func (r *run) settle(ctx context.Context, designs []design.Design) error {
	for i, e := range r.entrants {
		if err := r.books.behave(e.processor, false); err != nil {
			return err
		}
		e.send(ctx, designs[i], r.Settled, workers, &e.row.Settled, r.step)
		e.callers.Wait()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !e.allAnswered():
			return fmt.Errorf("%s: a payment was not answered before anything went wrong: %s", e.subject.design, e.row.Failure)
		}
	}
	return nil
}

// takeInHand sends some more as far as the processor, which holds them. It returns when the replica has everything.
func (r *run) takeInHand(ctx context.Context, designs []design.Design) error {
	held := 0
	for i, e := range r.entrants {
		if e.local() {
			continue
		}
		if err := r.books.behave(e.processor, true); err != nil {
			return err
		}
		e.send(ctx, designs[i], r.InHand, r.InHand, &e.row.InHand, r.step)
		held += r.InHand
		if err := until(ctx, "the payments in hand are at the processor", func(ctx context.Context) (bool, error) {
			n, err := r.books.pending(ctx)
			return n == held, err
		}); err != nil {
			return fmt.Errorf("%s: %w", e.subject.design, err)
		}
	}
	return r.pair.caughtUp(ctx)
}

// check asks Store.Check about both, where a Store can be on them.
func (r *run) check(ctx context.Context) {
	if said, ok := r.pair.primary().check(ctx); ok {
		r.checks = &Checks{Primary: said}
		r.checks.Standby, _ = r.pair.replica().check(ctx)
	}
}

// lateShop is a process of its own, whose commits can be told from those of the payments in hand.
const lateShop = "late"

// goOn lets the processor charge what it holds, and sends late payments of each design. It returns when everybody is answered, or
// when the late ones wait for the replica: then nobody else will be answered either.
func (r *run) goOn(ctx context.Context, shop *shop) error {
	if err := r.books.letGo(); err != nil {
		return err
	}
	waited := 0 // for the replica, before this design
	for _, e := range r.entrants {
		if err := r.books.behave(e.processor, false); err != nil {
			return err
		}
		e.send(ctx, shop.design(e.subject), r.Late, r.Late, &e.row.Late, r.step)
		if err := until(ctx, "everybody is answered, or waits for the replica", func(ctx context.Context) (bool, error) {
			waiting, err := r.pair.primary().waiting(ctx, lateShop)
			if err != nil {
				return false, err
			}
			pending, err := r.books.pending(ctx)
			e.row.Waiting = waiting - waited
			return e.allAnswered() || e.row.Waiting >= r.Late && pending == 0, err
		}); err != nil {
			return fmt.Errorf("%s: %w", e.subject.design, err)
		}
		waited += e.row.Waiting
	}
	return nil
}
