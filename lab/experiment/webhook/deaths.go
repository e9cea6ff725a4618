package webhook

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/workbench"
)

// DeathRow is what became of events that were in hand when their process was killed, and that had been delivered once more before
// that.
type DeathRow struct {
	Ledger string `json:"ledger"`
	Busy   int    `json:"answer_in_flight"` // status
	Killed int    `json:"processes_killed"`
	InHand int    `json:"deliveries_in_hand"` // when they were
	Told   Told   `json:"answers_in_flight"`  // to the deliveries that came meanwhile
	Again  int    `json:"deliveries_after"`   // of those that the provider did not take for delivered
	Fulfilled
	LostCents int64 `json:"lost_cents"` // of payments that were taken and brought nothing
}

// Told counts answers.
type Told struct {
	OK       int `json:"200"`
	Conflict int `json:"409"`
}

const (
	stale    = 90 * time.Second      // article 004's: so old is a claim whose holder has died
	patience = 50 * time.Millisecond // of a delivery that waits for another's transaction
)

// mortal is a receiver of DeathRow.
type mortal struct {
	ledger string
	busy   int
	build  func(pool *pgxpool.Pool, busy int, work Work) (r Receiver, closed func())
}

func mortals() []mortal {
	claim := func(pool *pgxpool.Pool, busy int, work Work) (Receiver, func()) {
		return StaleClaim{Pool: pool, Key: byEvent, Work: work, Stale: stale, Busy: busy}, func() {}
	}
	tx := func(pool *pgxpool.Pool, busy int, work Work) (Receiver, func()) {
		return Claim{Pool: pool, Key: byEvent, Work: work, Patience: patience, Busy: busy}, func() {}
	}
	do := func(pool *pgxpool.Pool, _ int, work Work) (Receiver, func()) {
		store := &idem.Store{Pool: pool, Policy: idem.Policy{Wait: -1}}
		return Do{Store: store, Work: work}, store.Close
	}
	hold := func(pool *pgxpool.Pool, _ int, work Work) (Receiver, func()) {
		store := &idem.Store{Pool: pool, Policy: idem.Policy{Wait: -1, Stale: idem.StaleRerun, Lease: stale}}
		return Hold{Store: store, Work: work}, store.Close
	}
	return []mortal{
		{staleClaim, http.StatusOK, claim},
		{staleClaim, http.StatusConflict, claim},
		{oneTx, http.StatusOK, tx},
		{oneTx, http.StatusConflict, tx},
		{storeDo, http.StatusConflict, do},
		{storeHold, http.StatusConflict, hold},
	}
}

func (w *Webhook) deaths(ctx context.Context, bench *workbench.Bench, pool *pgxpool.Pool, result *Result) error {
	for i, m := range mortals() {
		row, err := w.mortal(ctx, bench, pool, i, m)
		if err != nil {
			return fmt.Errorf("killed in flight, %s, %d: %w", m.ledger, m.busy, err)
		}
		result.Deaths = append(result.Deaths, row)
	}
	return nil
}

func (w *Webhook) mortal(ctx context.Context, bench *workbench.Bench, pool *pgxpool.Pool, i int, m mortal) (DeathRow, error) {
	row := DeathRow{Ledger: m.ledger, Busy: m.busy}
	if err := prepare(ctx, pool, false); err != nil {
		return row, err
	}
	work := &fulfilment{}
	r, closed := m.build(pool, m.busy, work.work)
	defer closed()
	survivor, err := listen(r)
	if err != nil {
		return row, err
	}
	defer survivor.close()
	from := newProvider()
	defer from.close()
	step, ended := bench.Progress(fmt.Sprintf("webhook kill: %s, %d", shortNames[m.ledger], m.busy), w.Payments)
	defer ended()
	d := death{pool: pool, bench: bench, receiver: i, from: from, survivor: survivor.url, row: &row}
	for left := w.Payments; left > 0; left -= w.InHand {
		n := min(left, w.InHand)
		if err := d.run(ctx, n); err != nil {
			return row, err
		}
		for range n {
			step()
		}
	}
	row.Fulfilled, err = work.count(ctx, pool, w.Payments)
	row.LostCents = int64(row.Dropped) * amountCents
	return row, err
}

// death is one process that is killed with deliveries in hand, and what the provider does about them.
type death struct {
	pool     *pgxpool.Pool
	bench    *workbench.Bench
	receiver int // of mortals
	from     provider
	survivor string // the url of the shop's other process
	row      *DeathRow
}

var (
	//go:embed age_claims.sql
	ageClaimsSQL string
	//go:embed age_leases.sql
	ageLeasesSQL string
	//go:embed sessions.sql
	sessionsSQL string
)

// run delivers n events to a process, once more to another one while the first is at work, kills the first, lets an hour pass,
// and delivers what no 2xx was answered to.
func (d *death) run(ctx context.Context, n int) error {
	j := job{Receiver: d.receiver, Database: d.pool.Config().ConnString(), Conns: n + spareConns}
	holder, err := startHolder(ctx, d.bench, j)
	if err != nil {
		return err
	}
	defer holder.kill()
	events := make([]Event, n)
	first := newGroup(ctx)
	for i := range events {
		events[i] = newPayment()[0]
		first.run(func(ctx context.Context) error {
			status, err := d.from.deliver(ctx, holder.url, events[i])
			if err == nil && status != noAnswer {
				err = fmt.Errorf("a process that was to be killed in the middle of its work answered %d", status)
			}
			return err
		})
	}
	if err := holder.await(n); err != nil {
		return err
	}
	statuses := make([]int, n)
	err = each(ctx, n, n, func(ctx context.Context, i int) (err error) {
		statuses[i], err = d.from.deliver(ctx, d.survivor, events[i])
		return err
	})
	if err != nil {
		return err
	}
	if err := holder.kill(); err != nil {
		return err
	}
	if err := first.wait(); err != nil {
		return err
	}
	d.row.Killed++
	d.row.InHand += n
	if err := d.pass(ctx); err != nil {
		return err
	}
	return d.again(ctx, events, statuses)
}

// again is the provider that goes through its list of events, each with the status that it was answered with last.
func (d *death) again(ctx context.Context, events []Event, statuses []int) error {
	for i, status := range statuses {
		if isDelivered(status) {
			d.row.Told.OK++
			continue
		}
		d.row.Told.Conflict++
		again, err := d.from.insist(ctx, d.survivor, events[i])
		d.row.Again += again
		if err != nil {
			return err
		}
	}
	return nil
}

// pass returns when the server has noticed the death, and an hour has passed for every claim.
func (d *death) pass(ctx context.Context) error {
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		var sessions int
		if err := d.pool.QueryRow(ctx, sessionsSQL, holderName).Scan(&sessions); err != nil {
			return fmt.Errorf("look for the dead process's sessions: %w", err)
		}
		if sessions == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for _, sql := range []string{ageClaimsSQL, ageLeasesSQL} {
		if _, err := d.pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("let an hour pass: %w", err)
		}
	}
	return nil
}
