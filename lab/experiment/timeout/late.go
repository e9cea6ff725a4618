package timeout

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/lab/design"
)

// LateRow is phones whose payment was taken and whose answer was lost, which send it again under the same key when they are
// online.
type LateRow struct {
	RetentionHours int `json:"retention_hours"`
	MaxAgeHours    int `json:"max_age_hours"` // beyond which the phone does not send a key; 0: it always does
	AfterHours     int `json:"after_hours"`
	Payments       int `json:"payments"`
	Swept          int `json:"keys_swept"`
	Again          int `json:"charged_again"`
	Replayed       int `json:"replayed"`
	NotSent        int `json:"not_sent"`
}

var (
	//go:embed forget.sql
	forgetSQL string
	//go:embed move_time.sql
	moveTimeSQL string
	//go:embed charged_again.sql
	chargedAgainSQL string
)

// The retentions of article 004: Stripe's, and its own.
const (
	stripeKeeps = 24
	weKeep      = 72
)

// hours are those after which phones come back.
var hours = []int{1, 12, 23, 25, 36, 48, 60, 71, 73, 96}

// late lets phones come back after so many hours, to a server that keeps keys for a day and to one that keeps them for three; and
// phones with the product's client, which has a key's age in mind.
func (t *Timeout) late(ctx context.Context, s stage, r *Result) error {
	var rows []LateRow
	for _, retention := range []int{stripeKeeps, weKeep} {
		for _, after := range hours {
			rows = append(rows, LateRow{RetentionHours: retention, AfterHours: after})
		}
	}
	for _, retention := range []int{stripeKeeps, weKeep} {
		for _, after := range []int{25, 73} {
			rows = append(rows, LateRow{RetentionHours: retention, MaxAgeHours: retention - 1, AfterHours: after})
		}
	}
	step, ended := s.bench.Progress("timeout: phones that come late", len(rows))
	defer ended()
	for i := range rows {
		if err := t.phones(ctx, s, &rows[i]); err != nil {
			return fmt.Errorf("retention %d h, after %d h: %w", rows[i].RetentionHours, rows[i].AfterHours, err)
		}
		step()
	}
	r.Late = rows
	return nil
}

func (t *Timeout) phones(ctx context.Context, s stage, row *LateRow) error {
	if _, err := s.pool.Exec(ctx, forgetSQL); err != nil {
		return fmt.Errorf("forget the keys of the run before: %w", err)
	}
	h, closed := newBank(s.pool, "").atomic(idem.Policy{Retention: time.Duration(row.RetentionHours) * time.Hour})
	defer closed()
	server, err := open(h, conns)
	if err != nil {
		return err
	}
	defer server.close()
	var payments []design.Payment
	for i := range t.Payments {
		payments = append(payments, design.NewPayment(fmt.Sprintf("customer %d", i+1)))
	}
	client := newClient()
	defer client.CloseIdleConnections()
	if err := each(payments, func(p design.Payment) error { return buys(ctx, client, server.url, p) }); err != nil {
		return err
	}
	if row.Swept, err = pass(ctx, s.pool, row.AfterHours); err != nil {
		return err
	}
	all, err := comeOnline(ctx, server.url, payments, row.MaxAgeHours, row.AfterHours)
	if err != nil {
		return err
	}
	row.Payments, row.NotSent = t.Payments, t.Payments-len(all)
	for _, a := range all {
		switch {
		case a.status != http.StatusCreated:
			return fmt.Errorf("a phone was answered %d: %s", a.status, a.body)
		case a.replayed:
			row.Replayed++
		}
	}
	row.Again, err = chargedAgain(ctx, s.pool, payments)
	return err
}

// chargedAgain is how many of payments, all of which must have been charged, were charged more than once.
func chargedAgain(ctx context.Context, pool *pgxpool.Pool, payments []design.Payment) (again int, err error) {
	keys := make([]string, len(payments))
	for i, p := range payments {
		keys[i] = p.Key
	}
	var once int
	if err := pool.QueryRow(ctx, chargedAgainSQL, keys).Scan(&again, &once); err != nil {
		return 0, fmt.Errorf("count the charges: %w", err)
	}
	if again+once != len(payments) {
		return 0, fmt.Errorf("%d of %d payments were charged", again+once, len(payments))
	}
	return again, nil
}

// buys sends a payment for the first time. The phone does not see the answer.
func buys(ctx context.Context, client *http.Client, url string, p design.Payment) error {
	a, err := send(ctx, client, url, p)
	if err == nil && (a.status != http.StatusCreated || a.replayed) {
		err = fmt.Errorf("a payment was answered %d: %s", a.status, a.body)
	}
	return err
}

// pass lets so many hours pass for all keys, and then the product's sweep run.
func pass(ctx context.Context, pool *pgxpool.Pool, hours int) (swept int, err error) {
	if _, err := pool.Exec(ctx, moveTimeSQL, hours); err != nil {
		return 0, fmt.Errorf("let %d hours pass: %w", hours, err)
	}
	stats, err := (&idem.Sweeper{Pool: pool}).Sweep(ctx)
	return int(stats.Deleted), err
}

// told is a payment and what its customer was told of it.
type told struct {
	design.Payment
	answer
}

// comeOnline is the phones that send their payments again after so many hours, and what they are told; without those that find
// their key older than maxAge hours and do not send it. 0: they all do.
func comeOnline(ctx context.Context, url string, payments []design.Payment, maxAge, after int) (all []told, err error) {
	if maxAge == 0 {
		maxAge = 2 * after
	}
	client := &http.Client{Transport: &idemhttp.Transport{MaxAge: time.Duration(maxAge) * time.Hour}}
	ctx = idemhttp.WithMintedAt(ctx, time.Now().Add(-time.Duration(after)*time.Hour))
	var mu sync.Mutex
	err = each(payments, func(p design.Payment) error {
		a, err := send(ctx, client, url, p)
		switch {
		case errors.Is(err, idemhttp.ErrKeyTooOld):
			return nil
		case err != nil:
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, told{p, a})
		return nil
	})
	return all, err
}
