package experiment

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/lab/payments"
)

// Night is what one design made of a SlowNight, a second of which is Second here.
type Night struct {
	Result
	Second    time.Duration `json:"second"`
	PaidTwice int           `json:"paid_twice"` // customers
}

// The demo's night.
const (
	nightCustomers = 30
	nightSecond    = 50 * time.Millisecond
)

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

func (d Demo) nightAt(ctx context.Context, pool *pgxpool.Pool, route payments.Route, guard string) (Night, error) {
	sent, ended := d.progress("night: "+route.Label, nightCustomers)
	defer ended()
	return SlowNight{
		Programs:  d.Programs,
		Customers: nightCustomers,
		Second:    nightSecond,
		Guard:     guard,
		Sent:      sent,
	}.Run(ctx, pool, route)
}
