package main

import (
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/processor"
)

// api is the shop's payments API.
type api struct {
	pool      *pgxpool.Pool
	keys      *idemhttp.Middleware
	processor processor.Client
	tokens    map[string]string // tenant by token
	guard     guard
	steps     bool          // POST /charges takes them
	orderTime time.Duration // that the work of an order takes
}

func newAPI(o options, pool *pgxpool.Pool, store *idem.Store) *api {
	return &api{
		pool:      pool,
		keys:      &idemhttp.Middleware{Store: store, Tenant: tenantOf},
		processor: processor.Client{URL: o.processorURL, HTTP: &http.Client{Timeout: o.processorTimeout}},
		tokens:    o.tokens,
		guard:     o.guard,
		steps:     o.steps,
		orderTime: o.orderTime,
	}
}

// routes are the API. Authentication stands outside the middleware, so that nobody gets a replay who may not have the answer.
func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /orders", a.keys.HandlerTx(a.order))
	mux.Handle("POST /charges", a.guarded(http.HandlerFunc(a.charge)))
	mux.Handle("POST /refunds", a.asking("refund", a.processor.FindRefund).Handler(http.HandlerFunc(a.refund)))
	outer := http.NewServeMux()
	outer.HandleFunc("GET /healthz", a.health)
	outer.Handle("/", a.authenticated(mux))
	return outer
}

func (a *api) health(w http.ResponseWriter, r *http.Request) {
	if err := a.pool.Ping(r.Context()); err != nil {
		http.Error(w, "the database is not there", http.StatusServiceUnavailable)
	}
}
