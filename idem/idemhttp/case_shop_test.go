package idemhttp_test

import (
	"context"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// shop is the bundle of the tests that follow a request from its client to a card processor.
type shop struct {
	*bundle
	cards *cards
	gates []*gate
}

func openShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{bundle: setup(t)}
	s.newCards()
	return s
}

// in is the shop for a subtest, with a processor of its own.
func (s *shop) in(t *testing.T) *shop {
	t.Helper()
	c := &shop{bundle: s.bundle.in(t)}
	c.newCards()
	return c
}

func (s *shop) newCards() {
	s.cards = &cards{charges: make(map[string]int)}
	s.cards.Server = httptest.NewServer(s.cards)
	s.Cleanup(func() {
		s.openGates()
		s.cards.Close()
	})
}

// process is the middleware of another process on the same database: it shares no memory with s.m, and has a pool of its own.
func (s *shop) process(p idem.Policy, conns int32) *idemhttp.Middleware {
	s.Helper()
	pool := testdb.Pool(s.T, s.pool.Config().ConnString(), func(c *pgxpool.Config) { c.MaxConns = conns })
	m := *s.m
	m.Store = &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: pool, Policy: p}
	s.Cleanup(m.Store.Close)
	return &m
}

func (s *shop) exec(sql string, args ...any) {
	s.Helper()
	if _, err := s.pool.Exec(context.Background(), sql, args...); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
}

func (s *shop) count(sql string, args ...any) (n int) {
	s.Helper()
	if err := s.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return n
}

// age moves every time of a key into the past, as if d had gone by.
func (s *shop) age(key string, d time.Duration) {
	s.Helper()
	s.exec(`UPDATE idem.keys SET claimed_at = claimed_at - $2::interval, locked_until = locked_until - $2::interval,
		created_at = created_at - $2::interval, completed_at = completed_at - $2::interval, expires_at = expires_at - $2::interval
		WHERE key = $1`, key, d)
}

// remaining is what is left of a key's lease by the database's clock, in seconds, rounded up.
func (s *shop) remaining(key string) int {
	s.Helper()
	return s.count("SELECT ceil(extract(epoch FROM locked_until - statement_timestamp())) FROM idem.keys WHERE key = $1", key)
}

// stateOf is the stored state of a key, "" where there is none.
func (s *shop) stateOf(key string) (state string) {
	s.Helper()
	err := s.pool.QueryRow(context.Background(), "SELECT coalesce(min(status), '') FROM idem.keys WHERE key = $1", key).Scan(&state)
	if err != nil {
		s.Fatal(err)
	}
	return state
}

// wantRetryAfter fails unless a asks to come back after 1 to most seconds.
func (s *shop) wantRetryAfter(a answer, most int) {
	s.Helper()
	if after, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || after < 1 || after > most {
		s.Fatalf("Retry-After is %q, want 1 to %d: %d %s", a.header.Get("Retry-After"), most, a.status, a.body)
	}
}
