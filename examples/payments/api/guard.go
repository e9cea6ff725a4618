package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// guard is how POST /charges treats retries. All but guardIdem are there to be seen failing.
type guard string

const (
	guardIdem         guard = "idem"           // the middleware
	guardCheckThenAct guard = "check-then-act" // article 004's eleven lines
	guardNone         guard = "none"           // every request is a new one
)

// UnmarshalText reads a flag.
func (g *guard) UnmarshalText(text []byte) error {
	switch known := guard(text); known {
	case guardIdem, guardCheckThenAct, guardNone:
		*g = known
		return nil
	}
	return fmt.Errorf("it is %s, %s or %s", guardIdem, guardCheckThenAct, guardNone)
}

// MarshalText writes it.
func (g guard) MarshalText() ([]byte, error) { return []byte(g), nil }

func (a *api) guarded(next http.Handler) http.Handler {
	switch a.guard {
	case guardNone:
		return http.HandlerFunc(a.chargeBlindly)
	case guardCheckThenAct:
		return http.HandlerFunc(a.checkThenAct)
	}
	if a.steps { // which are asked about one by one
		return a.keys.Handler(http.HandlerFunc(a.chargeInSteps))
	}
	return a.asking("charge", a.processor.FindCharge).Handler(next)
}

// chargeBlindly charges whatever comes.
func (a *api) chargeBlindly(w http.ResponseWriter, r *http.Request) {
	var in chargeRequest
	if !read(w, r, &in) {
		return
	}
	receipt, err := a.processor.Charge(r.Context(), "", in.forProcessor())
	if err != nil {
		writeError(w, http.StatusBadGateway, err.Error())
		return
	}
	write(w, http.StatusCreated, receipt)
}

// checkThenAct looks the key up, charges, and then saves the key. Between the look and the save stands the processor, for as
// long as it takes to answer; a retry that comes in that time finds nothing.
func (a *api) checkThenAct(w http.ResponseWriter, r *http.Request) {
	var in chargeRequest
	if !read(w, r, &in) {
		return
	}
	ctx := context.WithoutCancel(r.Context()) // as the article's handler: it goes on when the client has gone
	tenant, _ := tenantOf(r)
	key := r.Header.Get(idemhttp.HeaderKey)
	var saved []byte
	switch err := a.pool.QueryRow(ctx, lookSQL, tenant, key).Scan(&saved); {
	case err == nil:
		w.Header().Set(idemhttp.HeaderReplayed, "true")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(saved)
		return
	case !errors.Is(err, pgx.ErrNoRows):
		writeError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	receipt, err := a.processor.Charge(ctx, "", in.forProcessor())
	if err != nil {
		writeError(w, http.StatusBadGateway, err.Error())
		return
	}
	if _, err := a.pool.Exec(ctx, noteSQL, tenant, key, encode(receipt)); err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	write(w, http.StatusCreated, receipt)
}
