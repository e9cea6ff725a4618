package crash

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pgidem/pgidem/internal/processor"
	"github.com/pgidem/pgidem/lab/design"
)

// patience is how long a customer comes again before the experiment has failed.
const patience = 2 * time.Minute

// serve answers customers by several workers at once, or leaves them to an operator.
func (r *run) serve(ctx context.Context, customers []*customer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan *customer, len(customers))
	for _, c := range customers {
		queue <- c
	}
	close(queue)
	var lanes sync.WaitGroup
	for range min(r.Workers, len(customers)) {
		lanes.Go(func() {
			if err := r.lane(ctx, queue); err != nil {
				cancel(err)
			}
		})
	}
	lanes.Wait()
	return context.Cause(ctx)
}

// lane serves one customer after the other with one worker after the other. Those who are to come again do so here.
func (r *run) lane(ctx context.Context, queue <-chan *customer) (err error) {
	var worker *process
	defer func() {
		if worker != nil {
			err = errors.Join(err, worker.end())
		}
	}()
	var later []*customer // in the order in which they come: all wait for equally long
	for {
		c, err := next(ctx, queue, &later)
		if c == nil {
			return err
		}
		if worker == nil {
			if worker, err = r.startWorker(ctx); err != nil {
				return err
			}
		}
		a, killed, err := worker.pay(request{Payment: c.payment, Die: c.die})
		if killed || err != nil {
			worker = nil
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		done, err := r.told(ctx, c, a, killed)
		if err != nil {
			return err
		}
		if !done {
			c.due = time.Now().Add(retry)
			later = append(later, c)
		}
	}
}

// next is who comes next: somebody who was there before and is due, else somebody new. nil: nobody does any more.
func next(ctx context.Context, queue <-chan *customer, later *[]*customer) (*customer, error) {
	if len(*later) == 0 || time.Until((*later)[0].due) > 0 {
		if c, ok := <-queue; ok {
			c.began = time.Now()
			return c, nil
		}
		if len(*later) == 0 {
			return nil, nil
		}
	}
	c := (*later)[0]
	*later = (*later)[1:]
	select {
	case <-time.After(time.Until(c.due)):
		return c, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// told is what a customer makes of an answer. done: there is no need to come again.
func (r *run) told(ctx context.Context, c *customer, a answer, killed bool) (done bool, err error) {
	switch {
	case killed && c.die == "":
		return false, errors.New("somebody else has killed a worker")
	case killed:
		r.mu.Lock()
		r.row.Kills++
		r.mu.Unlock()
		c.die = ""
		return r.variant.late(), nil // they come again when all are there
	case time.Since(c.began) > patience:
		return false, fmt.Errorf("a payment is not answered for %s: %+v", patience, a)
	case a.Failure != "":
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.row.Failed++; r.row.FirstFailure == "" {
			r.row.FirstFailure = a.Failure
		}
		return false, nil
	case a.Unknown:
		if r.variant.operator {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.unknown = append(r.unknown, c)
			return true, nil
		}
		if r.variant.processor.Asked == processor.AskedPending { // it was asked, and waits
			return false, r.takesUp(ctx, c)
		}
		return false, nil
	case a.Outcome.Kind == design.InFlight:
		return false, nil
	case c.die != "":
		return false, fmt.Errorf("a worker that was to die at the point %q has passed it", c.die)
	}
	r.mu.Lock()
	r.row.Answered++
	r.mu.Unlock()
	r.answered()
	return true, r.takesUp(ctx, c)
}
