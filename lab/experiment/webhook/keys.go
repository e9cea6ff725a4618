package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/workbench"
)

// KeyRow is what a receiver made of events that come as they do: one payment's two after each other, each one's deliveries at
// once, and once more when all is done.
type KeyRow struct {
	Ledger string `json:"ledger"`
	Key    Key    `json:"key,omitempty"`
	Belt   bool   `json:"unique_index_on_payment"`
	Fulfilled
	Deliveries int `json:"deliveries"`
	Late       int `json:"late_deliveries"`          // of events that were fulfilled long before
	LateWorks  int `json:"works_begun_by_late_ones"` // deliveries
}

// The ledgers that findings speak of.
const (
	lookFirst  = "SELECT first"
	noLedger   = "no ledger"
	oneTx      = "claim with the work"
	staleClaim = "claim before the work"
	storeDo    = "pgidem Store.Do"
	storeHold  = "pgidem Store.Hold"
)

// keyed is a receiver of KeyRow.
type keyed struct {
	ledger string
	key    Key
	belt   bool
	build  func(*pgxpool.Pool, Key, Work) (r Receiver, closed func())
}

func keyedReceivers() []keyed {
	look := func(pool *pgxpool.Pool, key Key, work Work) (Receiver, func()) {
		return LookFirst{Pool: pool, Key: key, Work: work}, func() {}
	}
	none := func(pool *pgxpool.Pool, _ Key, work Work) (Receiver, func()) {
		return NoLedger{Pool: pool, Work: work}, func() {}
	}
	claim := func(pool *pgxpool.Pool, key Key, work Work) (Receiver, func()) {
		return Claim{Pool: pool, Key: key, Work: work}, func() {}
	}
	return []keyed{
		{ledger: lookFirst, key: byPayment, build: look},
		{ledger: oneTx, key: byPayment, build: claim},
		{ledger: lookFirst, key: byEvent, build: look},
		{ledger: lookFirst, key: byEvent, belt: true, build: look},
		{ledger: noLedger, belt: true, build: none},
		{ledger: oneTx, key: byEvent, build: claim},
		{ledger: oneTx, key: byEvent, belt: true, build: claim},
		{ledger: storeDo, key: byEvent, build: product},
	}
}

// product is Do in a process of its own, as far as the others can tell.
func product(pool *pgxpool.Pool, _ Key, work Work) (Receiver, func()) {
	store := &idem.Store{Pool: pool}
	return Do{Store: store, Work: work}, store.Close
}

func (w *Webhook) keys(ctx context.Context, bench *workbench.Bench, pool *pgxpool.Pool, result *Result) error {
	for _, k := range keyedReceivers() {
		row, err := w.keyed(ctx, bench, pool, k)
		if err != nil {
			return fmt.Errorf("events, %s by %s: %w", k.ledger, k.key, err)
		}
		result.Keys = append(result.Keys, row)
	}
	return nil
}

// keyed delivers each event to as many processes of the shop as there are copies: they share the database and nothing else.
func (w *Webhook) keyed(ctx context.Context, bench *workbench.Bench, pool *pgxpool.Pool, k keyed) (row KeyRow, err error) {
	if err := prepare(ctx, pool, k.belt); err != nil {
		return row, err
	}
	work := &fulfilment{takes: w.Work}
	var urls []string
	for range w.Copies {
		r, closed := k.build(pool, k.key, work.work)
		defer closed()
		e, err := listen(r)
		if err != nil {
			return row, err
		}
		defer e.close()
		urls = append(urls, e.url)
	}
	from := newProvider()
	defer from.close()
	step, ended := bench.Progress("webhook: "+k.shortName(), w.Payments)
	defer ended()
	payments := make([][2]Event, w.Payments)
	err = each(ctx, w.Payments, atOnce, func(ctx context.Context, i int) error {
		defer step()
		payments[i] = newPayment()
		return from.tell(ctx, urls, payments[i])
	})
	if err != nil {
		return row, err
	}
	begun := work.started.Load()
	err = each(ctx, w.Payments, atOnce, func(ctx context.Context, i int) error {
		for _, e := range payments[i] {
			if _, err := from.insist(ctx, urls[0], e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return row, err
	}
	events := 2 * w.Payments
	row = KeyRow{Ledger: k.ledger, Key: k.key, Belt: k.belt, Deliveries: events * w.Copies, Late: events}
	row.LateWorks = int(work.started.Load() - begun)
	row.Fulfilled, err = work.count(ctx, pool, events)
	return row, err
}

// shortNames are for lines of progress.
var shortNames = map[string]string{
	lookFirst: "SELECT", noLedger: "no ledger", oneTx: "transaction", staleClaim: "claim",
	storeDo: "Store.Do", storeHold: "Store.Hold",
}

func (k keyed) shortName() string {
	name := shortNames[k.ledger]
	if k.key == byPayment {
		name += " by payment"
	}
	if k.belt {
		name += ", index"
	}
	return name
}

// tell delivers a payment's events one after the other, each to all urls at once, and goes on until one answer is a 2xx.
func (p provider) tell(ctx context.Context, urls []string, events [2]Event) error {
	for _, e := range events {
		statuses, err := p.together(ctx, urls, e)
		if err != nil {
			return err
		}
		delivered := false
		for _, status := range statuses {
			if status == noAnswer {
				return errors.New("a receiver that lives did not answer")
			}
			delivered = delivered || isDelivered(status)
		}
		if delivered {
			continue
		}
		if _, err := p.insist(ctx, urls[0], e); err != nil {
			return err
		}
	}
	return nil
}
