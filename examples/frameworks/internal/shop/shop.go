// Package shop is what the three programs have in common: what their routes do, apart from HTTP.
package shop

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// Shop takes items into orders, which are rows of its database, and charges for orders, which is somebody else's work.
type Shop struct {
	Keys   *idemhttp.Middleware
	Tokens map[string]string // tenant by token

	// Add puts an item into an order, in tx. Open's is a row.
	Add func(ctx context.Context, tx pgx.Tx, tenant, order string, item Item) (id int64, err error)
	// Charge takes money under the key that it is given. Open's pretends to, and takes it once a key.
	Charge func(ctx context.Context, key, order string, cents int64) (id string, err error)
	// Items counts those of an order.
	Items func(ctx context.Context, tenant, order string) (n int, err error)
}

// Item is the body of a request that adds one.
type Item struct {
	Note  string `json:"note"`
	Cents int64  `json:"cents"`
}

// Added answers it.
type Added struct {
	ID    int64  `json:"id"`
	Order string `json:"order"`
	Item
}

// Bill is the body of a request that charges.
type Bill struct {
	Cents int64 `json:"cents"`
}

// Charged answers it.
type Charged struct {
	ID    string `json:"id"`
	Order string `json:"order"`
	Cents int64  `json:"cents"`
}

// Count answers who looks.
type Count struct {
	Items int `json:"items"`
}

// ErrRefused is a definitive no, such as a declined card: an outcome like any other, recorded and replayed.
var ErrRefused = errors.New("refused")

// Open is a shop on the database of pool, which must have schemas idem and shop.
func Open(pool *pgxpool.Pool, store *idem.Store) *Shop {
	taken := new(ledger)
	return &Shop{
		Keys:   &idemhttp.Middleware{Store: store, Tenant: Tenant},
		Tokens: map[string]string{"acme-secret": "acme", "globex-secret": "globex"},
		Add: func(ctx context.Context, tx pgx.Tx, tenant, order string, item Item) (id int64, err error) {
			err = tx.QueryRow(ctx, insertSQL, tenant, order, item.Note, item.Cents).Scan(&id)
			return id, err
		},
		Charge: func(_ context.Context, key, _ string, _ int64) (string, error) { return taken.charge(key), nil },
		Items: func(ctx context.Context, tenant, order string) (n int, err error) {
			err = pool.QueryRow(ctx, countSQL, tenant, order).Scan(&n)
			return n, err
		},
	}
}

// ledger is a pretended card processor. It refuses to repeat a key, as a real one does.
type ledger struct {
	mu  sync.Mutex
	ids map[string]string
}

func (l *ledger) charge(key string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil {
		l.ids = make(map[string]string)
	}
	if l.ids[key] == "" {
		l.ids[key] = "ch_" + strconv.Itoa(len(l.ids)+1)
	}
	return l.ids[key]
}

type tenantContext struct{}

// Authenticate is r with the tenant whose token it carries; false where it carries none that is known.
func (s *Shop) Authenticate(r *http.Request) (*http.Request, bool) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	tenant := s.Tokens[token]
	if !ok || tenant == "" {
		return nil, false
	}
	return r.WithContext(context.WithValue(r.Context(), tenantContext{}, tenant)), true
}

// Tenant is whose request it is, as Authenticate found.
func Tenant(r *http.Request) (string, error) {
	tenant, ok := r.Context().Value(tenantContext{}).(string)
	if !ok {
		return "", idemhttp.ErrUnauthenticated
	}
	return tenant, nil
}
