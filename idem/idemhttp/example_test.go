package idemhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

var (
	pool          *pgxpool.Pool
	accountOf     func(*http.Request) (string, error)
	authenticated func(http.Handler) http.Handler
	processor     interface {
		Charge(ctx context.Context, cents int, idempotencyKey string) (id string, err error)
	}
	errBusy, errDeclined error
)

// A server with a route of each mode.
func Example() {
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour, Stale: idem.StaleRerun}}
	keys := &idemhttp.Middleware{Store: store, Tenant: accountOf} // what authentication found

	orders := keys.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(r.Context(), "INSERT INTO orders (cents) VALUES ($1) RETURNING id", 4900).Scan(&id)
		if err != nil {
			return err // 500; rolled back, and the key is free
		}
		w.WriteHeader(http.StatusCreated)
		_, err = fmt.Fprintf(w, `{"id":%d}`, id)
		return err
	})
	charges := keys.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, _ := idemhttp.LeaseFrom(r.Context())
		id, err := processor.Charge(r.Context(), 4900, lease.DownstreamKey("charge"))
		switch {
		case errors.Is(err, errDeclined): // an outcome: recorded, and replayed
			http.Error(w, "declined", http.StatusPaymentRequired)
		case err != nil: // may have happened: the next try asks again, under the same downstream key
			http.Error(w, "try again", http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"id":%q}`, id)
		}
	}))
	http.Handle("POST /orders", authenticated(orders))
	http.Handle("POST /charges", authenticated(charges))
}

// The processor said that it did nothing, so the key is given back and the client's next try runs.
func ExampleTransient() {
	_ = func(w http.ResponseWriter, r *http.Request) {
		lease, _ := idemhttp.LeaseFrom(r.Context())
		_, err := processor.Charge(r.Context(), 4900, lease.DownstreamKey("charge"))
		if errors.Is(err, errBusy) {
			idemhttp.Transient(r.Context())
			w.Header().Set("Retry-After", "2")
			http.Error(w, "the processor is busy", http.StatusServiceUnavailable)
		}
	}
}

// Clients that send PayPal-Request-Id instead.
func ExampleMiddleware_header() {
	_ = &idemhttp.Middleware{
		Store:  &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour}},
		Tenant: accountOf,
		Header: "PayPal-Request-Id",
	}
}

// The key is a member of the body, as Square has it. Shopify's is an input of a GraphQL mutation: document.Variables.Input
// would hold it (article 000).
func ExampleMiddleware_key() {
	_ = &idemhttp.Middleware{
		Store:  &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour}},
		Tenant: accountOf,
		Key: func(_ *http.Request, body []byte) (string, error) {
			var document struct {
				Key string `json:"idempotency_key"`
			}
			if err := json.Unmarshal(body, &document); err != nil {
				return "", errors.New("the body is not the JSON that this endpoint takes")
			}
			return document.Key, nil
		},
	}
}

// A GraphQL endpoint, where every mutation has one path and the key is one of its inputs.
func ExampleMiddleware_graphQL() {
	_ = &idemhttp.Middleware{
		Store:    &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour}},
		Tenant:   accountOf,
		Optional: true, // a query has no key
		Key: func(_ *http.Request, body []byte) (string, error) {
			var document struct {
				Variables struct {
					Input struct {
						Key string `json:"idempotencyKey"`
					} `json:"input"`
				} `json:"variables"`
			}
			err := json.Unmarshal(body, &document)
			return document.Variables.Input.Key, err
		},
	}
}

// A client stamps every try with the time, which must not make another request of it. The rule before stays known, so that
// retries that began under it are not refused.
func ExampleRevisions() {
	_ = &idemhttp.Middleware{
		Store:       &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour}},
		Tenant:      accountOf,
		Fingerprint: idemhttp.Revisions{idemhttp.RequestFingerprint, idemhttp.Omit("sent_at")}.Fingerprint,
	}
}

// A route of its own lease and policy; the key and its answers stay where they were.
func ExampleMiddleware_With() {
	keys := &idemhttp.Middleware{
		Store:  &idem.Store{Pool: pool, Policy: idem.Policy{Retention: 72 * time.Hour}},
		Tenant: accountOf,
	}
	payouts := keys.With(idem.Policy{Retention: 30 * 24 * time.Hour, Lease: 5 * time.Minute})
	http.Handle("POST /payouts", authenticated(payouts.Handler(http.NotFoundHandler())))
}

// The processor's charge, a row of our own and the answer: the charge first, under its downstream key, then the row and the
// answer together.
func ExampleLeaseFrom() {
	_ = func(w http.ResponseWriter, r *http.Request) {
		lease, _ := idemhttp.LeaseFrom(r.Context())
		id, err := processor.Charge(r.Context(), 4900, lease.DownstreamKey("charge"))
		if err != nil {
			http.Error(w, "try again", http.StatusBadGateway)
			return
		}
		answer := &idem.Response{Status: http.StatusCreated, Body: fmt.Appendf(nil, `{"id":%q}`, id), ProviderRef: id}
		err = pgx.BeginFunc(r.Context(), pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(r.Context(), "INSERT INTO charges (id, cents) VALUES ($1, $2)", id, 4900); err != nil {
				return err
			}
			return lease.CompleteTx(r.Context(), tx, answer)
		})
		if err != nil {
			http.Error(w, "try again", http.StatusInternalServerError)
		}
	}
}
