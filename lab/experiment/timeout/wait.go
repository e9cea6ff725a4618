package timeout

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
	"github.com/pgidem/pgidem/lab/experiment"
)

// WaitRow is what a server with few workers did while one payment took long: with its duplicates, and with other customers.
type WaitRow struct {
	Design     string `json:"design"`
	Waits      bool   `json:"duplicates_wait"` // false: they are answered 409 at once
	Duplicates int    `json:"duplicates"`

	// By the duplicates, when the other customers had been answered or had given up.
	Workers       int `json:"workers_held"`
	Conns         int `json:"connections_held"`
	DatabaseConns int `json:"database_connections_held"` // by the slow payment too

	Strangers     int     `json:"other_customers"`
	Served        int     `json:"other_customers_served"` // within their time-out
	MedianSeconds float64 `json:"served_median_seconds"`  // 0: none was

	Conflicts int `json:"duplicates_answered_409"`
	Cut       int `json:"duplicates_cut_by_the_proxy"` // 0 where the payment landed before
	Replays   int `json:"duplicates_answered_in_the_end"`
	Charges   int `json:"charges"` // of the slow payment
}

// waiting is a design of WaitRow.
type waiting struct {
	name  string
	waits bool
	build func(*bank) (h http.Handler, closed func())
}

const (
	insertWaits = "INSERT, article 000"
	handlerTx   = "pgidem HandlerTx"
)

func waitings() []waiting {
	long, never := idem.Policy{Wait: time.Hour}, idem.Policy{Wait: -1}
	return []waiting{
		{insertWaits, true, func(b *bank) (http.Handler, func()) { return b.insertWaits(), func() {} }},
		{handlerTx, true, func(b *bank) (http.Handler, func()) { return b.atomic(long) }},
		{handler, true, func(b *bank) (http.Handler, func()) { return b.leased(long) }},
		{handlerTx, false, func(b *bank) (http.Handler, func()) { return b.atomic(never) }},
		{handler, false, func(b *bank) (http.Handler, func()) { return b.leased(never) }},
	}
}

// waits sends each design twice as many duplicates as it has workers and lets the proxy cut them, and then the product's lease
// mode fewer, to see where a server stops to serve.
func (t *Timeout) waits(ctx context.Context, s stage, r *Result) error {
	most := 2 * t.Workers
	all := waitings()
	step, ended := s.bench.Progress("timeout: wait, or a 409", len(all)+2*len(t.fewer()))
	defer ended()
	for _, w := range all {
		row, err := t.waiting(ctx, s, w, most, true)
		if err != nil {
			return fmt.Errorf("duplicates of a slow payment, %s: %w", w.name, err)
		}
		r.Waits = append(r.Waits, row)
		step()
	}
	for _, duplicates := range t.fewer() {
		for _, w := range all {
			if w.name != handler {
				continue
			}
			row, err := t.waiting(ctx, s, w, duplicates, false)
			if err != nil {
				return fmt.Errorf("%d duplicates of a slow payment, %s: %w", duplicates, w.name, err)
			}
			r.Fewer = append(r.Fewer, row)
			step()
		}
	}
	return nil
}

// fewer are numbers of duplicates up to that which, with the payment itself, takes every worker.
func (t *Timeout) fewer() []int {
	numbers := []int{0, t.Workers / 4, t.Workers / 2, 3 * t.Workers / 4, t.Workers - 2, t.Workers - 1}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func (t *Timeout) waiting(ctx context.Context, s stage, w waiting, duplicates int, untilCut bool) (row WaitRow, err error) {
	pool, err := t.poolOf(ctx, s.pool)
	if err != nil {
		return row, err
	}
	defer pool.Close()
	slow := design.NewPayment("slow")
	b := newBank(pool, slow.Key)
	h, closed := w.build(b)
	defer closed()
	server, err := open(h, t.Workers)
	if err != nil {
		return row, err
	}
	defer server.close()
	before, err := front(server, proxySeconds*t.Second)
	if err != nil {
		return row, err
	}
	defer before.close()
	c := crowd{Timeout: t, bank: b, server: server, proxy: before, slow: slow, client: newClient(), untilCut: untilCut}
	defer c.client.CloseIdleConnections()
	row = WaitRow{Design: w.name, Waits: w.waits, Duplicates: duplicates, Strangers: t.Strangers}
	return row, c.run(ctx, s.pool, &row)
}

// poolOf is a pool on the same database that has a connection for each worker.
func (t *Timeout) poolOf(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Pool, error) {
	config := pool.Config()
	config.MaxConns = int32(t.Workers)
	return pgxpool.NewWithConfig(ctx, config)
}

// patience is how long a customer waits for an answer.
func (t *Timeout) patience() time.Duration { return experiment.NightClient * t.Second }
