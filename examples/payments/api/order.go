package main

import (
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
)

// order is a row in the database that holds the keys: atomic mode. Order, key and answer commit together.
func (a *api) order(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
	var in struct {
		Course      string `json:"course"`
		Customer    string `json:"customer"`
		AmountCents int64  `json:"amount_cents"`
	}
	if !read(w, r, &in) {
		return nil
	}
	if in.Course == "" || in.AmountCents <= 0 {
		writeError(w, http.StatusUnprocessableEntity, "an order needs a course and an amount_cents above 0")
		return nil
	}
	tenant, err := tenantOf(r)
	if err != nil {
		return err
	}
	select { // the rest of the work
	case <-time.After(a.orderTime):
	case <-r.Context().Done():
		return r.Context().Err()
	}
	var id int64
	if err := tx.QueryRow(r.Context(), insertOrderSQL, tenant, in.Course, in.Customer, in.AmountCents).Scan(&id); err != nil {
		return err // 500; rolled back, and the key is free
	}
	write(w, http.StatusCreated, map[string]any{"id": id, "amount_cents": in.AmountCents})
	return nil
}
