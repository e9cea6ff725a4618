package idemtest_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// bundle is a database with a table of charges, and the product before it in both modes.
type bundle struct {
	*testing.T
	pool  *pgxpool.Pool
	store *idem.Store
	m     *idemhttp.Middleware
}

func setup(t *testing.T, mutate ...func(*pgxpool.Config)) *bundle {
	t.Helper()
	pool := testdb.New(t, mutate...)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE charges (id bigint GENERATED ALWAYS AS IDENTITY, key text)"); err != nil {
		t.Fatal(err)
	}
	store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool}
	t.Cleanup(store.Close)
	return &bundle{T: t, pool: pool, store: store, m: newMiddleware(store)}
}

// newMiddleware is quiet: it logs clients that hang up, which is what they do here.
func newMiddleware(store *idem.Store) *idemhttp.Middleware {
	return &idemhttp.Middleware{Store: store, Tenant: idemhttp.SingleTenant, Logger: slog.New(slog.DiscardHandler)}
}

// insert charges through a transaction, or the pool.
func insert(ctx context.Context, key string, db interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (id int64, err error) {
	err = db.QueryRow(ctx, "INSERT INTO charges (key) VALUES ($1) RETURNING id", key).Scan(&id)
	return id, err
}

// charges is the usual Effects.
func (b *bundle) charges(ctx context.Context) (n int, err error) {
	err = b.pool.QueryRow(ctx, "SELECT count(*) FROM charges").Scan(&n)
	return n, err
}

func created(w http.ResponseWriter, id int64) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", fmt.Sprintf("/charges/%d", id))
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%d}`, id)
}

// lease and atomic are POST /charges in each mode. during, unless nil, is called between the charge and the answer.
func (b *bundle) lease(m *idemhttp.Middleware, during func(context.Context)) http.Handler {
	return route(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, _ := idemhttp.LeaseFrom(r.Context())
		id, err := insert(r.Context(), lease.DownstreamKey("charge"), b.pool)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if during != nil {
			during(r.Context())
		}
		created(w, id)
	})))
}

func (b *bundle) atomic(m *idemhttp.Middleware, during func(context.Context)) http.Handler {
	return route(m.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		id, err := insert(r.Context(), "", tx)
		if err != nil {
			return err
		}
		if during != nil {
			during(r.Context())
		}
		created(w, id)
		return nil
	}))
}

// modes are both, by name.
func (b *bundle) modes() map[string]func(*idemhttp.Middleware, func(context.Context)) http.Handler {
	return map[string]func(*idemhttp.Middleware, func(context.Context)) http.Handler{"lease": b.lease, "atomic": b.atomic}
}

func route(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /charges", h)
	return mux
}

// newCharge is the usual Request.
func newCharge(key string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, "/charges", strings.NewReader(`{"cents":4900}`))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	return r
}

// keyOf is the key of a charge, its body read as a handler would.
func keyOf(r *http.Request) string {
	_, _ = io.ReadAll(r.Body)
	return r.Header.Get("Idempotency-Key")
}

// heard is a testing.TB that only listens.
type heard struct {
	testing.TB
	ctx    context.Context
	errors []string
	fatal  string
	log    []string
}

func hear(t *testing.T, f func(testing.TB)) *heard {
	h := &heard{TB: t, ctx: t.Context()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil && r != any(h) {
				panic(r)
			}
		}()
		f(h)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("not within a minute")
	}
	return h
}

func (h *heard) Helper()                  {}
func (h *heard) Context() context.Context { return h.ctx }
func (h *heard) Log(args ...any)          { h.log = append(h.log, fmt.Sprint(args...)) }
func (h *heard) Error(args ...any)        { h.errors = append(h.errors, fmt.Sprint(args...)) }
func (h *heard) Fatal(args ...any)        { h.fatal = fmt.Sprint(args...); panic(h) }
func (h *heard) Fatalf(format string, args ...any) {
	h.Fatal(fmt.Sprintf(format, args...))
}
