package idemhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// bundle is what the tests of this package share: a database with the product's schema and a table of charges, and a middleware
// whose tenant is the header X-Tenant.
type bundle struct {
	*testing.T
	pool *pgxpool.Pool
	m    *idemhttp.Middleware
	log  *syncBuffer
}

func setup(t *testing.T) *bundle {
	t.Helper()
	pool := testdb.New(t)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE charges (id bigint GENERATED ALWAYS AS IDENTITY, tenant text, note text)"); err != nil {
		t.Fatal(err)
	}
	store := &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool}
	t.Cleanup(store.Close)
	log := new(syncBuffer)
	return &bundle{T: t, pool: pool, log: log, m: &idemhttp.Middleware{
		Store:  store,
		Tenant: tenantOf,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}}
}

// in is the bundle for a subtest.
func (b *bundle) in(t *testing.T) *bundle {
	c := *b
	c.T = t
	return &c
}

func tenantOf(r *http.Request) (string, error) {
	if tenant := r.Header.Get("X-Tenant"); tenant != "" {
		return tenant, nil
	}
	return "T1", nil
}

// mode is one of the two ways to run a handler.
type mode struct {
	name string
	// handle is h under m. Its effect is a row of charges for each run, written by h through charge.
	handle func(b *bundle, m *idemhttp.Middleware, h handlerFunc) http.Handler
}

// handlerFunc is a handler of either mode; charge has the effect that must happen once.
type handlerFunc func(w http.ResponseWriter, r *http.Request, charge func())

var (
	leaseMode = mode{"lease", func(b *bundle, m *idemhttp.Middleware, h handlerFunc) http.Handler {
		return m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h(w, r, func() { b.insert(r.Context(), b.pool) })
		}))
	}}
	atomicMode = mode{"atomic", func(b *bundle, m *idemhttp.Middleware, h handlerFunc) http.Handler {
		return m.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
			h(w, r, func() { b.insert(r.Context(), tx) })
			return nil
		})
	}}
	modes = []mode{leaseMode, atomicMode}
)

func (b *bundle) insert(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (id int64) {
	if err := db.QueryRow(ctx, "INSERT INTO charges (note) VALUES ('') RETURNING id").Scan(&id); err != nil {
		b.Errorf("charge: %v", err)
	}
	return id
}

// charges counts the effects.
func (b *bundle) charges() (n int) {
	b.Helper()
	if err := b.pool.QueryRow(context.Background(), "SELECT count(*) FROM charges").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// created is the usual handler: it charges and answers 201.
func created(w http.ResponseWriter, _ *http.Request, charge func()) {
	charge()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"id":"ch_1"}`)
}

// serve puts h behind the route POST /charges of a real server, and every other one given.
func (b *bundle) serve(h http.Handler, patterns ...string) *httptest.Server {
	b.Helper()
	mux := http.NewServeMux()
	for _, pattern := range append(patterns, "/charges") {
		mux.Handle(pattern, h)
	}
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	return server
}

// newRequest is a POST of a JSON document under a key.
func newRequest(url, key, body string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return r
}

// answer is a response that was read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

// problem is the answer's problem document; its type without the base.
func (a answer) problem() (p idemhttp.Problem) {
	if a.header.Get("Content-Type") != "application/problem+json" {
		return p
	}
	_ = json.Unmarshal([]byte(a.body), &p)
	p.Type = strings.TrimPrefix(p.Type, idemhttp.ProblemBase)
	return p
}

// send sends r and reads the answer.
func (b *bundle) send(r *http.Request) answer {
	b.Helper()
	a, err := do(http.DefaultClient, r)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func do(client *http.Client, r *http.Request) (answer, error) {
	resp, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body)}, err
}

// post sends a JSON document to the route /charges.
func (b *bundle) post(server *httptest.Server, key, body string) answer {
	b.Helper()
	return b.send(newRequest(server.URL+"/charges", key, body))
}

// wantFirst fails unless a is a first answer of the status.
func (b *bundle) wantFirst(a answer, status int) {
	b.Helper()
	if a.status != status || a.replayed() {
		b.Fatalf("%d, replayed %v, want a first answer %d: %s", a.status, a.replayed(), status, a.body)
	}
}

// wantReplay fails unless a is first again: same status, same body, marked.
func (b *bundle) wantReplay(a, first answer) {
	b.Helper()
	if !a.replayed() || a.status != first.status || a.body != first.body {
		b.Fatalf("%d %q, replayed %v, want a replay of %d %q", a.status, a.body, a.replayed(), first.status, first.body)
	}
}

// wantProblem fails unless a is the problem of the name.
func (b *bundle) wantProblem(a answer, status int, name string) {
	b.Helper()
	if p := a.problem(); a.status != status || p.Type != name || p.Status != status || p.Title == "" {
		b.Fatalf("%d %s %s, want %d %s", a.status, a.header.Get("Content-Type"), a.body, status, name)
	}
}

// syncBuffer is a log that many goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// eventually waits until ok, and fails after 20 s.
func (b *bundle) eventually(what string, ok func() bool) {
	b.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("not within 20 s: %s", what)
		}
	}
}
