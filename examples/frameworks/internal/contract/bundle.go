package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/examples/frameworks/internal/shop"
	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// mode is one of the routes under test, and the mode of its keys.
type mode struct {
	name    string
	pattern string
	path    string              // below an order
	effects func(b *bundle) int // that the route has had in the subtest
}

// database is what the claims share.
type database struct {
	pool   *pgxpool.Pool
	store  *idem.Store
	routes func(*shop.Shop) http.Handler
	claims int // so far
}

func open(t *testing.T, routes func(*shop.Shop) http.Handler) *database {
	t.Helper()
	pool := testdb.New(t)
	if err := shop.Install(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	store := &idem.Store{Pool: pool, Policy: idem.Policy{Wait: -1}} // a duplicate is sent away at once
	t.Cleanup(store.Close)
	return &database{pool: pool, store: store, routes: routes}
}

// bundle is a running program, and the orders and the key of one claim.
type bundle struct {
	*testing.T
	mode
	pool         *pgxpool.Pool
	url          string
	order, other string // nobody else's
	key          string
	seen         []string // Charge was called under, Add with
	charged      atomic.Int64
	after        func() error // what follows an effect, in the handler; nil: nothing
}

func (d *database) in(t *testing.T, m mode) *bundle {
	d.claims++
	b := &bundle{
		T: t, mode: m, pool: d.pool, key: idemhttp.NewKey(),
		order: fmt.Sprintf("%d-1", d.claims), other: fmt.Sprintf("%d-2", d.claims),
	}
	s := shop.Open(d.pool, d.store)
	s.Keys.Logger = slog.New(slog.DiscardHandler)
	add, charge := s.Add, s.Charge
	s.Add = func(ctx context.Context, tx pgx.Tx, tenant, order string, item shop.Item) (int64, error) {
		id, err := add(ctx, tx, tenant, order, item)
		return id, b.then(err, fmt.Sprint(item))
	}
	s.Charge = func(ctx context.Context, key, order string, cents int64) (string, error) {
		id, err := charge(ctx, key, order, cents)
		b.charged.Add(1)
		return id, b.then(err, fmt.Sprint(cents))
	}
	server := httptest.NewServer(d.routes(s))
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

func (b *bundle) then(err error, seen string) error {
	b.seen = append(b.seen, seen)
	if err == nil && b.after != nil {
		err = b.after()
	}
	return err
}

// items counts the rows of the claim's orders, and so what was committed.
func (b *bundle) items() (n int) {
	b.Helper()
	const count = "SELECT count(*) FROM shop.items WHERE order_id IN ($1, $2)"
	if err := b.pool.QueryRow(b.Context(), count, b.order, b.other).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// charges counts the calls that have gone out.
func (b *bundle) charges() int { return int(b.charged.Load()) }

// wantEffects fails unless the route has had n.
func (b *bundle) wantEffects(n int) {
	b.Helper()
	if got := b.effects(b); got != n {
		b.Errorf("%d effects, want %d", got, n)
	}
}

// document is the body of a request for either route.
func document(cents int64) string { return fmt.Sprintf(`{"note":"a book","cents":%d}`, cents) }

// request is a POST for 4900 cents of the claim's order, under its key, by acme.
func (b *bundle) request() *http.Request { return b.requestFor(b.order, document(4900)) }

func (b *bundle) requestFor(order, body string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, b.url+"/v1/orders/"+order+"/"+b.path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer acme-secret")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(idemhttp.HeaderKey, b.key)
	return r
}

// answer is a response that was read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func (b *bundle) send(r *http.Request) answer {
	b.Helper()
	a, err := send(r)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func send(r *http.Request) (answer, error) {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body)}, err
}

// wantFirst fails unless a is a first answer of the status.
func (b *bundle) wantFirst(a answer, status int) {
	b.Helper()
	if a.status != status || a.header.Get(idemhttp.HeaderReplayed) != "" {
		b.Fatalf("%d %v %s, want a first answer %d", a.status, a.header, a.body, status)
	}
}

// wantReplay fails unless a is first again, and says so.
func (b *bundle) wantReplay(a, first answer) {
	b.Helper()
	if a.status != first.status || a.body != first.body || a.header.Get(idemhttp.HeaderReplayed) != "true" {
		b.Fatalf("%d %v %q, want a replay of %d %q", a.status, a.header, a.body, first.status, first.body)
	}
	for _, name := range []string{"Content-Type", "Location"} {
		if got, want := a.header.Values(name), first.header.Values(name); fmt.Sprint(got) != fmt.Sprint(want) {
			b.Errorf("the replay has %s %q, the first answer %q", name, got, want)
		}
	}
}

// wantProblem fails unless a is the problem of the name.
func (b *bundle) wantProblem(a answer, status int, name string) {
	b.Helper()
	var p idemhttp.Problem
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != status || p.Type != idemhttp.ProblemBase+name {
		b.Fatalf("%d %v %s, want %d %s", a.status, a.header, a.body, status, name)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		b.Errorf("a problem of type %q", got)
	}
}

// stored is a key as it stands; zero where there is none.
type stored struct{ endpoint, status string }

func (b *bundle) stored() (s stored) {
	b.Helper()
	const look = "SELECT endpoint, status FROM idem.keys WHERE tenant_id = 'acme' AND key = $1"
	if err := b.pool.QueryRow(b.Context(), look, b.key).Scan(&s.endpoint, &s.status); err != nil && err != pgx.ErrNoRows {
		b.Fatal(err)
	}
	return s
}
