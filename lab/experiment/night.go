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
	"github.com/pgidem/pgidem/lab/payments"
)

// Night is article 004's: customers whose client gives up after 10 seconds and sends the payment again, with the same key, while
// the processor takes 11. It is what one design made of it; a second of the article is Second here.
type Night struct {
	Result
	Second    time.Duration `json:"second"`
	PaidTwice int           `json:"paid_twice"` // customers
}

// The article's night, in its seconds.
const (
	nightClient    = 10 // a client's time-out
	nightProcessor = 11 // what the processor takes
	nightCustomers = 30
	nightSecond    = 50 * time.Millisecond
)

//go:embed paid_twice.sql
var paidTwiceSQL string

func (d Demo) night(ctx context.Context, pool *pgxpool.Pool, result *DemoResult) error {
	for _, one := range []struct {
		route payments.Route
		guard string
	}{
		{payments.Route{Label: "check-then-act", Path: "/charges"}, "check-then-act"},
		{payments.Route{Label: "pgidem Handler (charges)", Path: "/charges", Safe: true}, "idem"},
	} {
		n, err := d.nightAt(ctx, pool, one.route, one.guard)
		if err != nil {
			return err
		}
		result.Night = append(result.Night, n)
	}
	return nil
}

func (d Demo) nightAt(ctx context.Context, pool *pgxpool.Pool, route payments.Route, guard string) (n Night, err error) {
	shop, err := d.Programs.Open(ctx, pool, payments.Options{
		Conns:     nightCustomers,
		API:       []string{"--guard=" + guard},
		Processor: []string{"--latency=" + (nightProcessor * nightSecond).String()},
	})
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, shop.Close()) }()
	base := &http.Transport{MaxIdleConnsPerHost: nightCustomers}
	defer base.CloseIdleConnections()
	route.Shop = shop
	route.Client = &http.Client{Transport: &idemhttp.Transport{
		Base:       base,
		TryTimeout: nightClient * nightSecond,
		MinBackoff: nightSecond / 4, // the default's 250 ms, in this night's seconds
		MaxBackoff: nightClient * nightSecond,
	}}
	sent, ended := d.progress("night: "+route.Label, nightCustomers)
	defer ended()
	if err := prepare(ctx, pool, 1); err != nil {
		return n, err
	}
	t := newTally(route)
	var customers sync.WaitGroup
	began := time.Now()
	for range nightCustomers {
		customers.Go(func() {
			p := newPayment("")
			o, err := route.Pay(ctx, p)
			t.add(p, o, err)
			sent()
		})
	}
	customers.Wait()
	took := time.Since(began)
	if ctx.Err() != nil {
		return n, context.Cause(ctx)
	}
	if err := shop.Settled(ctx); err != nil {
		return n, err
	}
	n.Second = nightSecond
	n.Result, err = t.count(ctx, pool, took)
	if err != nil {
		return n, err
	}
	return n, pool.QueryRow(ctx, paidTwiceSQL).Scan(&n.PaidTwice)
}
