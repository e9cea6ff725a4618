package webhook

import (
	"context"
	_ "embed"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed reset.sql
	resetSQL string
	//go:embed belt_on.sql
	beltOnSQL string
	//go:embed belt_off.sql
	beltOffSQL string
	//go:embed open_course.sql
	openCourseSQL string
	//go:embed book_invoice.sql
	bookInvoiceSQL string
	//go:embed count.sql
	countSQL string
)

// fulfilment is the shop's work on events, counted.
type fulfilment struct {
	takes   time.Duration
	started atomic.Int64
}

// work is a Work. What it takes stands for a mail or a licence server, which no rollback undoes.
func (f *fulfilment) work(ctx context.Context, tx pgx.Tx, e Event) error {
	f.started.Add(1)
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	sql := openCourseSQL
	if e.Type == paid {
		sql = bookInvoiceSQL
	}
	_, err := tx.Exec(ctx, sql, e.Payment)
	return err
}

// prepare empties the tables, puts the unique index on the payment on or takes it off, and opens the pool's connections, so that
// the first deliveries are as close together as the others.
func prepare(ctx context.Context, pool *pgxpool.Pool, belt bool) error {
	all := []string{resetSQL, beltOffSQL}
	if belt {
		all = append(all, beltOnSQL)
	}
	for _, sql := range all {
		if _, err := pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("empty the shop's tables: %w", err)
		}
	}
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("open %d connections: %w", pool.Config().MaxConns, err)
		}
		defer conn.Release()
	}
	return nil
}

// Fulfilled counts in the shop's tables what became of a number of events.
type Fulfilled struct {
	Events   int `json:"events"`             // that were to be fulfilled
	Once     int `json:"fulfilled_once"`     // events
	Repeated int `json:"fulfilled_again"`    // events, two times or more
	Dropped  int `json:"never_fulfilled"`    // events
	Times    int `json:"times_in_all"`       // that an event was fulfilled
	Started  int `json:"works_begun_in_all"` // deliveries whose work was begun, committed or not
}

func (f *fulfilment) count(ctx context.Context, pool *pgxpool.Pool, events int) (Fulfilled, error) {
	c := Fulfilled{Events: events, Started: int(f.started.Load())}
	var fulfilled int
	if err := pool.QueryRow(ctx, countSQL).Scan(&fulfilled, &c.Repeated, &c.Times); err != nil {
		return c, fmt.Errorf("count what was fulfilled: %w", err)
	}
	c.Once, c.Dropped = fulfilled-c.Repeated, events-fulfilled
	return c, nil
}
