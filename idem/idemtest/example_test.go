package idemtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemtest"
)

var (
	t      *testing.T // the test's
	mux    http.Handler
	pool   *pgxpool.Pool
	charge func(key string) *http.Request
)

// The test that finds the second charge. All that it needs to know is how a request is made and how charges are counted.
func ExampleStorm() {
	idemtest.Storm{
		Handler: mux,
		Request: func(key string) *http.Request {
			r := httptest.NewRequest("POST", "/charges", strings.NewReader(`{"cents":4900}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", key)
			r.Header.Set("Authorization", "Bearer test")
			return r
		},
		Effects: func(ctx context.Context) (n int, err error) {
			err = pool.QueryRow(ctx, "SELECT count(*) FROM charges").Scan(&n)
			return n, err
		},
	}.Run(t)
}

// A look, a call to the processor, a write: no line of it is wrong, and of these customers each pays up to five times.
func ExampleStorm_Check() {
	seen := make(chan map[string]bool, 1)
	seen <- map[string]bool{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		keys := <-seen
		found := keys[key]
		seen <- keys
		if found {
			w.Header().Set("Idempotent-Replayed", "true")
			return
		}
		time.Sleep(20 * time.Millisecond) // the processor
		keys = <-seen
		keys[key] = true
		seen <- keys
	})
	report, err := idemtest.Storm{Handler: handler}.Check(context.Background())
	fmt.Println(report.Keys, "customers, charged more than once:", report.Firsts > report.Keys, err != nil)
	// Output: 8 customers, charged more than once: true true
}

// The client's time-out strikes while the handler works. What it asks again must be answered, and be the one charge.
func ExampleDrop() {
	idemtest.Drop(t, mux, charge("a-key"), idemtest.AfterRequest)

	again := httptest.NewRecorder()
	mux.ServeHTTP(again, charge("a-key"))
	if again.Code != http.StatusCreated {
		t.Errorf("the customer is told %d", again.Code)
	}
}

// A tracer of the pool that hangs up when the first statement of a request has been answered.
type hangingUp struct{}

func (hangingUp) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (hangingUp) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	idemtest.HangUp(ctx)
}

func ExampleHangUp() {
	config, _ := pgxpool.ParseConfig("postgres://localhost/test")
	config.ConnConfig.Tracer = hangingUp{} // of the pool that the handlers of mux use

	idemtest.Drop(t, mux, charge("a-key"), idemtest.InHandler)
}

// The process that held a key is gone for longer than its lease. Under StaleRefuse nobody may guess what it did.
func ExampleLapse() {
	store := &idem.Store{Pool: pool}
	key := idem.Key{Tenant: "acme", Endpoint: "POST /charges", ID: "a-key", Fingerprint: idem.AnyRequest}
	if _, _, err := store.Claim(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := idemtest.Lapse(t.Context(), pool, key); err != nil {
		t.Fatal(err)
	}
	again := httptest.NewRecorder()
	mux.ServeHTTP(again, charge("a-key"))
	if again.Code != http.StatusConflict {
		t.Errorf("answered %d", again.Code)
	}
}
