package idemhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// slack is what a slow machine may add to a bounded wait.
const slack = 5 * time.Second

// bounded runs f and fails if it takes longer than most.
func (s *shop) bounded(what string, most time.Duration, f func()) {
	s.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took > most {
		s.Errorf("%s took %v, want at most %v", what, took, most)
	}
}

// C29: in atomic mode a handler runs for as long as it likes. Its duplicates, from its own process or from another one of eight
// connections, are sent away within Wait; while they wait GET /health gets a connection at once; and when the first rolls back,
// exactly one of them becomes the runner.
func TestC29DuplicatesOfALongRequestDoNotPileUp(t *testing.T) {
	s := openShop(t)
	const duplicates, conns, wait = 20, 8, 300 * time.Millisecond
	for _, where := range []string{"in-the-same-process", "in-another-process"} {
		t.Run(where, func(t *testing.T) {
			s := s.in(t)
			before := s.charges()
			var runs atomic.Int32
			begun, fail := s.newGate(), s.newGate()
			h := func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
				s.insert(r.Context(), tx)
				if runs.Add(1) == 1 {
					begun.open()
					fail.wait() // 10 s, or for ever
					return errors.New("the first fails")
				}
				created(w, r, func() {})
				return nil
			}
			owner := s.process(idem.Policy{Wait: wait + 2*slack}, conns) // a route's policy takes its place
			twin := owner
			if where == "in-another-process" {
				twin = s.process(owner.Store.Policy, conns)
			}
			here := s.open(owner.HandlerTx(h))
			hasty, patient := s.open(twin.With(idem.Policy{Wait: wait}).HandlerTx(h)), s.open(twin.With(idem.Policy{Wait: time.Minute}).HandlerTx(h))
			health := s.open(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if _, err := twin.Store.Pool.Exec(r.Context(), "SELECT 1"); err != nil {
					t.Error(err)
				}
			}), "GET /health")

			first := s.later(newRequest(here.charges(), where, dollars))
			s.await("the first runs", begun)
			var sentAway sync.WaitGroup
			for range duplicates {
				sentAway.Go(func() {
					s.bounded("a duplicate", wait+slack, func() {
						a, err := do(http.DefaultClient, newRequest(hasty.charges(), where, dollars))
						if err != nil || a.status != 409 || a.problem().Type != "in-flight" || a.header.Get("Retry-After") != "1" {
							t.Errorf("a duplicate got %d %s, %v; want 409 in-flight, Retry-After 1", a.status, a.body, err)
						}
					})
				})
			}
			sentAway.Wait()

			var answers []<-chan answer
			for range duplicates {
				answers = append(answers, s.later(newRequest(patient.charges(), where, dollars)))
			}
			s.eventually("all duplicates wait", func() bool { return patient.inside.Load() == duplicates })
			for range 20 {
				s.bounded("GET /health", slack, func() {
					if a, err := do(http.DefaultClient, newGet(health.URL+"/health")); err != nil || a.status != 200 {
						t.Errorf("GET /health: %d, %v", a.status, err)
					}
				})
			}
			fail.open()
			s.wantProblem(receive(s, "the first answer", first), 500, "failed")
			fresh := 0
			for _, waiting := range answers {
				a := receive(s, "a duplicate's answer", waiting)
				if a.status != 201 {
					t.Errorf("a duplicate got %d %s", a.status, a.body)
				}
				if !a.replayed() {
					fresh++
				}
			}
			if n := s.charges() - before; n != 1 || fresh != 1 || runs.Load() != 2 {
				t.Errorf("%d charges, %d first answers, %d runs; want 1, 1 and 2", n, fresh, runs.Load())
			}
		})
	}
}

// C30: handlers of atomic mode that ask the pool for a second connection starve it. A request that comes then is 503 in bounded
// time and nothing of it runs; the starved ones end with their clients, and leave their keys free.
func TestC30HandlersThatTakeASecondConnectionStarveNoKeyForEver(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	const conns = 4
	m := s.process(idem.Policy{Wait: -1}, conns)
	var barrier sync.WaitGroup
	barrier.Add(conns)
	hungry := s.open(m.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		barrier.Done()
		barrier.Wait()
		var one int
		return m.Store.Pool.QueryRow(r.Context(), "SELECT 1").Scan(&one) // not tx: waits for the others, who wait for it
	}))
	modest := s.open(m.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		s.insert(r.Context(), tx)
		created(w, r, func() {})
		return nil
	}))
	ctx, hangUp := context.WithCancel(t.Context())
	var starved sync.WaitGroup
	for n := range conns {
		starved.Go(func() {
			if a, err := do(http.DefaultClient, newRequest(hungry.charges(), fmt.Sprint(n), dollars).WithContext(ctx)); err == nil {
				t.Errorf("a starved handler answered %d %s", a.status, a.body)
			}
		})
	}
	barrier.Wait()
	s.bounded("a request without a connection", 5*time.Second+slack, func() { // the grace of a claim
		a := s.send(newRequest(modest.charges(), "late", dollars))
		s.wantProblem(a, 503, "unavailable")
		s.wantRetryAfter(a, 1)
	})
	if n := s.count("SELECT count(*) FROM idem.keys") + s.charges(); n != 0 {
		t.Errorf("%d rows of keys and charges, want none", n)
	}
	hangUp()
	starved.Wait()
	s.eventually("all starved requests end", func() bool { return hungry.inside.Load() == 0 })
	for n := range conns {
		s.wantFirst(s.send(newRequest(modest.charges(), fmt.Sprint(n), dollars)), 201)
	}
	s.wantFirst(s.send(newRequest(modest.charges(), "late", dollars)), 201)
}

// C30: lease mode holds no connection while handlers run, so that they may have the pool, all of it; and the leases are extended
// while they do.
func TestC30LeaseModeLeavesThePoolToHandlers(t *testing.T) {
	s := openShop(t)
	const conns, requests = 4, 8
	m := s.process(idem.Policy{Lease: time.Second, Retention: time.Hour}, conns)
	pool := m.Store.Pool
	var inside atomic.Int32
	query, finish := s.newGate(), s.newGate()
	site := s.open(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside.Add(1)
		query.wait()
		bounded, cancel := context.WithTimeout(r.Context(), 20*time.Second)
		defer cancel()
		conn, err := pool.Acquire(bounded) // while others hold theirs
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Release()
		created(w, r, func() { s.insert(r.Context(), conn) })
		finish.wait()
	})))
	var answers []<-chan answer
	for n := range requests {
		answers = append(answers, s.later(newRequest(site.charges(), fmt.Sprint(n), dollars)))
	}
	s.eventually("all handlers run, and their claims' connections are back", func() bool {
		return inside.Load() == requests && pool.Stat().AcquiredConns() == 0
	})
	query.open()
	s.eventually("the handlers hold the pool", func() bool { return pool.Stat().AcquiredConns() == conns && s.charges() == conns })

	// Each lease is extended with the pool full: more than a lease after the claim, all of them stand.
	s.eventually("every lease outlives its first length", func() bool {
		return s.count("SELECT count(*) FROM idem.keys WHERE locked_until > claimed_at + interval '2 seconds'") == requests
	})
	finish.open()
	for _, waiting := range answers {
		s.wantFirst(receive(s, "an answer", waiting), 201)
	}
	for n := range requests {
		if again := s.send(newRequest(site.charges(), fmt.Sprint(n), dollars)); !again.replayed() {
			t.Errorf("request %d was not recorded: %d %s", n, again.status, again.body)
		}
	}
	if n := s.charges(); n != requests {
		t.Errorf("%d charges, want %d", n, requests)
	}
}
