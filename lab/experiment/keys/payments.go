package keys

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/trials"
	"github.com/pgidem/pgidem/lab/workbench"
)

// payers send payments at once.
const payers = 8

// pay sends payments through the product, to each server by turns.
func (k *Keys) pay(ctx context.Context, b *workbench.Bench, servers []*server) ([]Payments, error) {
	step, ended := b.Progress("keys: Store.Do", rounds*len(servers))
	defer ended()
	var turns []func(context.Context) (round, error)
	for _, s := range servers {
		store := &idem.Store{Pool: s.Pool}
		defer store.Close()
		turns = append(turns, func(ctx context.Context) (round, error) {
			return s.round(ctx, design.Do{Store: store}, k.Payments/rounds)
		})
	}
	all, err := trials.Run(ctx, trials.Plan{Turns: rounds, Step: step}, turns...)
	if err != nil {
		return nil, err
	}
	var paid []Payments
	for i, s := range servers {
		p, err := s.count(ctx, all[i], k.Payments)
		if err != nil {
			return nil, err
		}
		paid = append(paid, p)
	}
	return paid, nil
}

// round is some payments, each sent twice.
type round struct {
	replays, inFlight int
	perSecond         float64 // requests
}

// round sends n payments, both copies of each at about the same time.
func (s *server) round(ctx context.Context, d design.Design, n int) (round, error) {
	made, err := s.some(n)
	if err != nil {
		return round{}, err
	}
	requests := make(chan design.Payment, 2*n)
	for _, key := range made {
		p := design.NewPayment("a customer")
		p.Key = key
		requests <- p
		requests <- p
	}
	close(requests)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var told [design.InFlight + 1]atomic.Int64 // of each design.Kind
	var workers sync.WaitGroup
	began := time.Now()
	for range payers {
		workers.Go(func() {
			for p := range requests {
				o, err := d.Pay(ctx, p)
				if err != nil {
					cancel(err) // and whoever comes next gets an error
					return
				}
				told[o.Kind].Add(1)
			}
		})
	}
	workers.Wait()
	took := time.Since(began)
	return round{
		replays: int(told[design.Replayed].Load()), inFlight: int(told[design.InFlight].Load()), perSecond: float64(2*n) / took.Seconds(),
	}, context.Cause(ctx)
}

//go:embed charges.sql
var chargesSQL string

// count says what became of n payments.
func (s *server) count(ctx context.Context, all []round, n int) (Payments, error) {
	p := Payments{Kind: s.name, Payments: n}
	for _, r := range all {
		p.Replays += r.replays
		p.InFlight += r.inFlight
		p.PerSecond = append(p.PerSecond, r.perSecond)
	}
	var charged int
	if err := s.Pool.QueryRow(ctx, chargesSQL).Scan(&p.Charges, &charged); err != nil {
		return p, fmt.Errorf("count the charges: %w", err)
	}
	p.Duplicates = p.Charges - charged
	p.Missing = n - charged
	return p, nil
}
