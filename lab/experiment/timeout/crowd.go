package timeout

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/design"
)

// crowd is who comes to a server while one payment takes long: its duplicates, and other customers.
type crowd struct {
	*Timeout
	bank     *bank
	server   *site
	proxy    *proxy
	slow     design.Payment
	client   *http.Client
	untilCut bool // the payment lands only when the proxy has cut all that waits for it
}

//go:embed charges_of.sql
var chargesOfSQL string

func (c *crowd) run(ctx context.Context, pool *pgxpool.Pool, row *WaitRow) error {
	defer c.bank.lands()
	first := make(chan error, 1)
	go func() { // past the proxy, and patient
		a, err := send(ctx, c.client, c.server.url, c.slow)
		if err == nil && a.status != http.StatusCreated {
			err = fmt.Errorf("the slow payment was answered %d", a.status)
		}
		first <- err
	}()
	select {
	case <-c.bank.begun:
	case err := <-first:
		return fmt.Errorf("the slow payment has ended too early: %v", err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	duplicates := c.duplicates(ctx, row.Duplicates)
	if err := c.settled(ctx, duplicates, row); err != nil {
		return err
	}
	if err := c.strangers(ctx, row); err != nil {
		return err
	}
	inside, atWork := c.server.of(c.slow.Key)
	row.Conns, row.Workers = inside-1, atWork-1
	row.DatabaseConns = int(c.bank.pool.Stat().AcquiredConns())
	if c.untilCut {
		duplicates.all.Wait()
	}
	c.bank.lands()
	duplicates.all.Wait()
	if err := <-first; err != nil {
		return err
	}
	if err := c.comeBack(ctx, duplicates, row); err != nil {
		return err
	}
	row.Cut = int(c.proxy.cut.Load())
	return pool.QueryRow(ctx, chargesOfSQL, c.slow.Key).Scan(&row.Charges)
}

// duplicates are requests for the slow payment, sent again.
type duplicates struct {
	all sync.WaitGroup

	mu      sync.Mutex
	answers []answer
	err     error
}

func (c *crowd) duplicates(ctx context.Context, n int) *duplicates {
	d := new(duplicates)
	for range n {
		d.all.Go(func() { d.told(send(ctx, c.client, c.proxy.url, c.slow)) })
	}
	return d
}

func (d *duplicates) told(a answer, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers = append(d.answers, a)
	if err != nil {
		d.err = err
	}
}

func (d *duplicates) answered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.answers)
}

// settled returns when every duplicate is answered, or, where they wait, all that can have a worker have one.
func (c *crowd) settled(ctx context.Context, d *duplicates, row *WaitRow) error {
	for tick := time.NewTicker(time.Millisecond); ; {
		inside, atWork := c.server.of(c.slow.Key)
		all := 1 + row.Duplicates
		if d.answered() == row.Duplicates || row.Waits && inside == all && atWork == min(all, c.Workers) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// strangers send a payment each, and give up in time.
func (c *crowd) strangers(ctx context.Context, row *WaitRow) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	for i := range c.Strangers {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, c.patience())
			defer cancel()
			began := time.Now()
			a, err := send(ctx, c.client, c.proxy.url, design.NewPayment(fmt.Sprintf("customer %d", i+1)))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && a.status == http.StatusCreated:
				took = append(took, time.Since(began))
			case err == nil:
				failed = fmt.Errorf("another customer was answered %d", a.status)
			case ctx.Err() == nil:
				failed = err
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if row.Served = len(took); row.Served > 0 {
		slices.Sort(took)
		row.MedianSeconds = took[len(took)/2].Seconds()
	}
	return failed
}

// comeBack is the duplicates that were told to, when the payment has landed: each once.
func (c *crowd) comeBack(ctx context.Context, d *duplicates, row *WaitRow) error {
	if d.err != nil {
		return fmt.Errorf("a duplicate has no answer: %w", d.err)
	}
	for _, a := range d.answers {
		if a.status == http.StatusConflict {
			row.Conflicts++
		}
		if a.status != http.StatusCreated {
			var err error
			if a, err = send(ctx, c.client, c.proxy.url, c.slow); err != nil {
				return err
			}
		}
		if a.status == http.StatusCreated && a.replayed {
			row.Replays++
		}
	}
	return nil
}
