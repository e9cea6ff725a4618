package failover

import (
	"context"
	"errors"
	"sync"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
)

// entrant is one design on its way through a failover.
type entrant struct {
	*subject
	row Row

	callers   sync.WaitGroup // of the primary's shops
	mu        sync.Mutex
	customers []*customer
	answered  int // by the primary
}

func newEntrant(s *subject) *entrant {
	return &entrant{subject: s, row: Row{Design: s.design, Ours: s.ours, Processor: s.processor}}
}

// customer is one payment, and what its customer is told.
type customer struct {
	payment design.Payment
	group   *Group
	charge  int64 // that the primary's answer names; 0: there was none

	again  design.Outcome // what the promoted replica says
	failed error          // where it gives no answer
}

// local reports whether the charge is a row beside the key, so that there is no processor that could have it in hand.
func (e *entrant) local() bool { return e.processor == Here }

// allAnswered reports whether the primary has answered everybody so far.
func (e *entrant) allAnswered() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answered == len(e.customers)
}

// send lets n new customers pay, so many of them at once, and does not wait for it. They count in g.
func (e *entrant) send(ctx context.Context, d design.Design, n, atOnce int, g *Group, step func()) {
	all := make([]*customer, n)
	for i := range all {
		all[i] = &customer{payment: design.NewPayment("a customer"), group: g}
	}
	e.mu.Lock()
	e.customers = append(e.customers, all...)
	e.mu.Unlock()
	e.callers.Go(func() {
		each(all, atOnce, func(c *customer) {
			if ctx.Err() == nil {
				e.told(c)(d.Pay(ctx, c.payment))
				step()
			}
		})
	})
}

// told notes what the primary makes of a payment.
func (e *entrant) told(c *customer) func(design.Outcome, error) {
	return func(o design.Outcome, err error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		switch {
		case err == nil && o.Kind != design.InFlight:
			e.answered++
			c.charge = o.ChargeID
		case err != nil && e.row.Failure == "":
			e.row.Failure = err.Error()
		}
	}
}

// unknown reports whether the customer was told that an operator decides.
func (c *customer) unknown() bool { return errors.Is(c.failed, idem.ErrOutcomeUnknown) }

// helped reports what is wrong when nobody but the customer is at work and the payment is neither answered nor an operator's.
func (c *customer) helped() error {
	switch {
	case c.failed != nil && !c.unknown():
		return c.failed
	case c.failed == nil && c.again.Kind == design.InFlight:
		return errors.New("the payment is in flight")
	}
	return nil
}

// each does something for all customers, for so many at once.
func each(customers []*customer, atOnce int, do func(*customer)) {
	queue := make(chan *customer, len(customers))
	for _, c := range customers {
		queue <- c
	}
	close(queue)
	var lanes sync.WaitGroup
	for range min(atOnce, len(customers)) {
		lanes.Go(func() {
			for c := range queue {
				do(c)
			}
		})
	}
	lanes.Wait()
}
