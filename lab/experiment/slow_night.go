package experiment

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/payments"
)

// SlowNight is article 004's: customers whose client gives up after 10 seconds and sends the payment again, while the processor
// takes 11. They send it to the payments example by the product's client.
type SlowNight struct {
	Programs  *payments.Programs
	Customers int
	Second    time.Duration // what a second of the article takes here
	Guard     string        // how the API treats retries: its flag
	Tries     int           // of each payment, at most. 0: those of idemhttp.Transport
	Sent      func()        // called after every payment, by many goroutines; nil: nobody is told

	// Wire is put between the client's loop of tries and the network; nil: nothing is.
	Wire func(network http.RoundTripper) http.RoundTripper
}

// The article's night, in its seconds.
const (
	NightClient    = 10 // a client's time-out
	NightProcessor = 11 // what the processor takes
)

//go:embed paid_twice.sql
var paidTwiceSQL string

// Run sends each customer's payment through route, on a shop of its own, and counts.
func (s SlowNight) Run(ctx context.Context, pool *pgxpool.Pool, route payments.Route) (n Night, err error) {
	shop, err := s.Programs.Open(ctx, pool, payments.Options{
		Conns:     s.Customers,
		API:       []string{"--guard=" + s.Guard},
		Processor: []string{"--latency=" + (NightProcessor * s.Second).String()},
	})
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, shop.Close()) }()
	network := &http.Transport{MaxIdleConnsPerHost: s.Customers}
	defer network.CloseIdleConnections()
	route.Shop, route.Client = shop, s.client(network)
	if err := prepare(ctx, pool, 1); err != nil {
		return n, err
	}
	t := newTally(route)
	began := time.Now()
	s.customers(ctx, route, t)
	took := time.Since(began)
	if ctx.Err() != nil {
		return n, context.Cause(ctx)
	}
	if err := shop.Settled(ctx); err != nil {
		return n, err
	}
	n.Second = s.Second
	n.Result, err = t.count(ctx, pool, took)
	if err != nil {
		return n, err
	}
	return n, pool.QueryRow(ctx, paidTwiceSQL).Scan(&n.PaidTwice)
}

func (s SlowNight) client(network http.RoundTripper) *http.Client {
	if s.Wire != nil {
		network = s.Wire(network)
	}
	return &http.Client{Transport: &idemhttp.Transport{
		Base:       network,
		Tries:      s.Tries,
		TryTimeout: NightClient * s.Second,
		MinBackoff: s.Second / 4, // the default's 250 ms, in this night's seconds
		MaxBackoff: NightClient * s.Second,
	}}
}

func (s SlowNight) customers(ctx context.Context, route payments.Route, t *tally) {
	var all sync.WaitGroup
	for range s.Customers {
		all.Go(func() {
			p := design.NewPayment("")
			o, err := route.Pay(ctx, p)
			t.add(p, o, err)
			if s.Sent != nil {
				s.Sent()
			}
		})
	}
	all.Wait()
}
