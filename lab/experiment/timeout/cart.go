package timeout

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/lab/design"
)

// CartRow is phones that bought a cart and lost the answer. Their customers cancelled it by telephone and bought another one;
// then the phones are online again, and send the first cart again under its key.
type CartRow struct {
	RetentionHours int `json:"retention_hours"`
	MaxAgeHours    int `json:"max_age_hours"` // beyond which the phone does not send a key; 0: it always does
	AfterHours     int `json:"after_hours"`
	Carts          int `json:"carts"`
	Resurrected    int `json:"resurrected"` // phones that were told that they have bought it
	Refused        int `json:"refused"`     // phones that were told that it is gone
	NotSent        int `json:"not_sent"`
	Again          int `json:"charged_again"`
}

// When the phones are online again: within both retentions, and past the one and within the other.
const (
	cartSoon = 12
	cartLate = 48
)

var (
	//go:embed cart_fill.sql
	cartFillSQL string
	//go:embed cart_buy.sql
	cartBuySQL string
	//go:embed cart_cancel.sql
	cartCancelSQL string
	//go:embed cart_gone.sql
	cartGoneSQL string
)

func (t *Timeout) carts(ctx context.Context, s stage, r *Result) error {
	rows := []CartRow{
		{RetentionHours: stripeKeeps, AfterHours: cartSoon},
		{RetentionHours: weKeep, AfterHours: cartSoon},
		{RetentionHours: stripeKeeps, AfterHours: cartLate},
		{RetentionHours: weKeep, AfterHours: cartLate},
		{RetentionHours: weKeep, MaxAgeHours: stripeKeeps - 1, AfterHours: cartLate},
	}
	step, ended := s.bench.Progress("timeout: carts that were left", len(rows))
	defer ended()
	for i := range rows {
		if err := t.cart(ctx, s, &rows[i]); err != nil {
			return fmt.Errorf("carts, retention %d h: %w", rows[i].RetentionHours, err)
		}
		step()
	}
	r.Carts = rows
	return nil
}

func (t *Timeout) cart(ctx context.Context, s stage, row *CartRow) error {
	b := newBank(s.pool, "")
	h, closed := b.carts(idem.Policy{Retention: time.Duration(row.RetentionHours) * time.Hour})
	defer closed()
	server, err := open(h, conns)
	if err != nil {
		return err
	}
	defer server.close()
	client := newClient()
	defer client.CloseIdleConnections()
	var first, second []design.Payment
	for range t.Payments {
		p, q := newCart(), newCart()
		first, second = append(first, p), append(second, q)
	}
	if err := each(first, func(p design.Payment) error { return b.fillAndBuy(ctx, client, server.url, p) }); err != nil {
		return err
	}
	if err := each(first, func(p design.Payment) error { return b.cancel(ctx, p) }); err != nil {
		return err
	}
	if err := each(second, func(p design.Payment) error { return b.fillAndBuy(ctx, client, server.url, p) }); err != nil {
		return err
	}
	if _, err := pass(ctx, s.pool, row.AfterHours); err != nil {
		return err
	}
	all, err := comeOnline(ctx, server.url, first, row.MaxAgeHours, row.AfterHours)
	if err != nil {
		return err
	}
	row.Carts, row.NotSent = t.Payments, t.Payments-len(all)
	if err := row.judge(ctx, s.pool, all); err != nil {
		return err
	}
	row.Again, err = chargedAgain(ctx, s.pool, first)
	return err
}

// newCart is a cart, which is named by its key.
func newCart() design.Payment {
	p := design.NewPayment("")
	p.Customer = "cart " + p.Key
	return p
}

// judge holds what the phones were told against what the shop knows.
func (row *CartRow) judge(ctx context.Context, pool *pgxpool.Pool, all []told) error {
	for _, a := range all {
		var gone bool
		if err := pool.QueryRow(ctx, cartGoneSQL, a.Customer).Scan(&gone); err != nil {
			return fmt.Errorf("look for a cart: %w", err)
		}
		switch {
		case a.status == http.StatusCreated && gone:
			row.Resurrected++
		case a.status == http.StatusGone && gone:
			row.Refused++
		default:
			return fmt.Errorf("a phone was answered %d, and its cart is cancelled: %t", a.status, gone)
		}
	}
	return nil
}

func (b *bank) fillAndBuy(ctx context.Context, client *http.Client, url string, p design.Payment) error {
	if _, err := b.pool.Exec(ctx, cartFillSQL, p.Customer); err != nil {
		return fmt.Errorf("fill a cart: %w", err)
	}
	return buys(ctx, client, url, p)
}

func (b *bank) cancel(ctx context.Context, p design.Payment) error {
	done, err := b.pool.Exec(ctx, cartCancelSQL, p.Customer)
	if err == nil && done.RowsAffected() != 1 {
		err = errors.New("it was not bought")
	}
	if err != nil {
		return fmt.Errorf("cancel a cart: %w", err)
	}
	return nil
}

// carts handles payments in the product's atomic mode, each for a cart that is open; for another one the answer is 410.
func (b *bank) carts(policy idem.Policy) (h http.Handler, closed func()) {
	keys, closed := b.middleware(policy)
	mux := http.NewServeMux()
	mux.Handle("POST "+path, keys.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		p, err := received(r)
		if err != nil {
			return err
		}
		switch err := tx.QueryRow(r.Context(), cartBuySQL, p.Customer).Scan(new(string)); {
		case errors.Is(err, pgx.ErrNoRows):
			w.WriteHeader(http.StatusGone)
			return nil
		case err != nil:
			return err
		}
		var id int64
		if err := tx.QueryRow(r.Context(), chargeSQL, p.Key, p.Customer, p.AmountCents).Scan(&id); err != nil {
			return err
		}
		created(w, id)
		return nil
	}))
	return mux, closed
}
