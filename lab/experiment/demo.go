package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/payments"
)

// Demo is the storm of article 003 and the night of article 004, over HTTP through the payments example, and the barrier of
// article 000: each through designs that charge twice and through the product.
type Demo struct {
	Programs *payments.Programs
	Payments int           // of the storm
	Copies   int           // of each payment in the storm
	Workers  int           // of the storm
	Delay    time.Duration // of a charge

	// Progress is told of every run before it starts, and what it returns of every request and of the end.
	Progress func(name string, requests int) (sent, ended func())
}

// The barrier is article 000's.
const (
	BarrierWorkers = 8
	barrierTrials  = 3
)

// DemoResult is what the demo measured.
type DemoResult struct {
	Workers      int      `json:"workers"`
	Copies       int      `json:"copies"`
	DelaySeconds float64  `json:"delay_seconds"`
	Storm        []Result `json:"storm"`   // a design each
	Night        []Night  `json:"night"`   // a design each
	Barrier      []Trials `json:"barrier"` // a design each
}

// Trials are the barrier's runs of one design.
type Trials []Result

// Run runs it all; pool should have a connection for each worker of the barrier.
func (d Demo) Run(ctx context.Context, pool *pgxpool.Pool) (*DemoResult, error) {
	result := &DemoResult{
		Workers:      d.Workers,
		Copies:       d.Copies,
		DelaySeconds: d.Delay.Seconds(),
	}
	for _, part := range []func(context.Context, *pgxpool.Pool, *DemoResult) error{d.storm, d.night, d.barrier} {
		if err := part(ctx, pool, result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// storm sends every design's payments to a shop of its own. Its charge takes Delay at the processor, its order in the API.
func (d Demo) storm(ctx context.Context, pool *pgxpool.Pool, result *DemoResult) error {
	for _, one := range []struct {
		route payments.Route
		guard string
	}{
		{payments.Route{Label: "no key", Path: "/charges"}, "none"},
		{payments.Route{Label: "check-then-act", Path: "/charges"}, "check-then-act"},
		{payments.Route{Label: "pgidem HandlerTx (orders)", Path: "/orders", Safe: true}, "idem"},
		{payments.Route{Label: "pgidem Handler (charges)", Path: "/charges", Safe: true}, "idem"},
	} {
		r, err := d.stormOn(ctx, pool, one.route, one.guard)
		if err != nil {
			return fmt.Errorf("storm: %s: %w", one.route.Label, err)
		}
		result.Storm = append(result.Storm, r)
	}
	return nil
}

func (d Demo) stormOn(ctx context.Context, pool *pgxpool.Pool, route payments.Route, guard string) (r Result, err error) {
	shop, err := d.Programs.Open(ctx, pool, payments.Options{
		Conns:     d.Workers,
		API:       []string{"--guard=" + guard, "--order-time=" + d.Delay.String()},
		Processor: []string{"--latency=" + d.Delay.String()},
	})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, shop.Close()) }()
	transport := &http.Transport{MaxIdleConnsPerHost: d.Workers}
	defer transport.CloseIdleConnections()
	route.Shop, route.Client = shop, &http.Client{Transport: transport}
	sent, ended := d.progress("storm: "+route.Label, d.Payments*d.Copies)
	defer ended()
	return Storm{Payments: d.Payments, Copies: d.Copies, Workers: d.Workers, Sent: sent, Settled: shop.Settled}.Run(ctx, pool, route)
}

func (d Demo) barrier(ctx context.Context, pool *pgxpool.Pool, result *DemoResult) error {
	var naive, ours []design.Design
	for range BarrierWorkers {
		store := &idem.Store{Pool: pool} // a worker's own, so that no memory is shared and the database alone decides
		defer store.Close()
		naive = append(naive, design.CheckThenInsert{Pool: pool, Delay: d.Delay})
		ours = append(ours, design.Do{Store: store, Delay: d.Delay})
	}
	for _, workers := range [][]design.Design{naive, ours} {
		name := workers[0].Name()
		sent, ended := d.progress("barrier: "+name, barrierTrials*BarrierWorkers)
		var trials Trials
		for range barrierTrials {
			r, err := Barrier{Workers: workers, Sent: sent}.Run(ctx, pool)
			if err != nil {
				ended()
				return fmt.Errorf("barrier: %s: %w", name, err)
			}
			trials = append(trials, r)
		}
		ended()
		result.Barrier = append(result.Barrier, trials)
	}
	return nil
}

func (d Demo) progress(name string, requests int) (sent, ended func()) {
	if d.Progress == nil {
		return nil, func() {}
	}
	return d.Progress(name, requests)
}
