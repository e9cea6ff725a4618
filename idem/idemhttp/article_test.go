package idemhttp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

const (
	k1       = "5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01"
	dollars  = `{"user":"u_1","amount_cents":4900}`
	dollars9 = `{"user":"u_1","amount_cents":900000}`
)

// Article 000: a $9,000 request is never answered with a $49 receipt, nor the other way round.
func TestArticle000KeyThatComesWithAnotherAmountIsRefused(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		for name, bodies := range map[string][2]string{"49-first": {dollars, dollars9}, "9000-first": {dollars9, dollars}} {
			key := mode.name + "-" + name
			t.Run(key, func(t *testing.T) {
				s := s.in(t)
				site := s.open(mode.handle(s.bundle, s.m, created))
				before := s.charges()
				first := s.send(newRequest(site.charges(), key, bodies[0]))
				s.wantFirst(first, 201)
				s.wantProblem(s.send(newRequest(site.charges(), key, bodies[1])), 422, "key-reused")
				again := s.send(newRequest(site.charges(), key, bodies[0])) // a mismatch has spoilt nothing
				s.wantReplay(again, first)
				if got := again.header.Values("Idempotent-Replayed"); !slices.Equal(got, []string{"true"}) {
					t.Errorf("Idempotent-Replayed is %q, want true once", got)
				}
				if n := s.charges() - before; n != 1 {
					t.Errorf("%d charges, want 1", n)
				}
			})
		}
	}
}

// Article 000: the scope is endpoint and parameters. Under ScopeTenant a key that paid cannot refund; under ScopeEndpoint
// (article 004) it names another request there.
func TestArticle000KeyAtAnotherEndpoint(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		for name, scope := range map[string]idem.Scope{"tenant": idem.ScopeTenant, "endpoint": idem.ScopeEndpoint} {
			key := mode.name + "-scope-" + name
			t.Run(key, func(t *testing.T) {
				s := s.in(t)
				m := s.m.With(idem.Policy{Scope: scope})
				site := s.open(mode.handle(s.bundle, m, created), "/v1/refund")
				first := s.send(newRequest(site.charges(), key, dollars))
				s.wantFirst(first, 201)
				elsewhere := s.send(newRequest(site.URL+"/v1/refund", key, dollars))
				if scope == idem.ScopeTenant {
					s.wantProblem(elsewhere, 422, "key-reused")
				} else {
					s.wantFirst(elsewhere, 201)
				}
				s.wantReplay(s.send(newRequest(site.charges(), key, dollars)), first)
			})
		}
	}
}

// Article 000: an id that no float64 holds, as a number and as a string, is the same bytes in the first answer and in every
// replay, from the same process and from another one.
func TestArticle000BigintIdIsTheSameBytesInEveryAnswer(t *testing.T) {
	s := openShop(t)
	const id = "9007199254740993" // 2^53 + 1
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			s := s.in(t)
			s.exec("ALTER TABLE charges ALTER COLUMN id RESTART WITH " + id)
			answer := func(w http.ResponseWriter, id int64) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				_ = json.NewEncoder(w).Encode(map[string]any{"chargeId": id, "text": strconv.FormatInt(id, 10)})
			}
			handler := func(m *idemhttp.Middleware) http.Handler {
				if mode.name == atomicMode.name {
					return m.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
						answer(w, s.insert(r.Context(), tx))
						return nil
					})
				}
				return m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, s.insert(r.Context(), s.pool)) }))
			}
			here, there := s.open(handler(s.m)), s.open(handler(s.process(idem.Policy{}, 4)))
			first := s.send(newRequest(here.charges(), mode.name, dollars))
			s.wantFirst(first, 201)
			if want := `{"chargeId":` + id + `,"text":"` + id + `"}` + "\n"; first.body != want {
				t.Fatalf("the first answer is %q, want %q", first.body, want)
			}
			for _, url := range []string{here.charges(), there.charges(), here.charges()} {
				s.wantReplay(s.send(newRequest(url, mode.name, dollars)), first)
			}
		})
	}
}

// Article 004: every twin is told that the owner is at work, instead of guessing.
func TestArticle004TwinIsSentAwayWhileTheFirstRuns(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			s := s.in(t)
			begun, finish := s.newGate(), s.newGate()
			h := func(w http.ResponseWriter, r *http.Request, charge func()) {
				begun.open()
				finish.wait()
				created(w, r, charge)
			}
			policy := idem.Policy{Wait: 50 * time.Millisecond}
			here, there := s.open(mode.handle(s.bundle, s.m.With(policy), h)), s.open(mode.handle(s.bundle, s.process(policy, 4), h))
			owner := s.later(newRequest(here.charges(), mode.name, dollars))
			s.await("the first runs", begun)
			for _, url := range []string{here.charges(), there.charges()} {
				twin := s.send(newRequest(url, mode.name, dollars))
				s.wantProblem(twin, 409, "in-flight")
				s.wantRetryAfter(twin, 1)
			}
			finish.open()
			first := receive(s, "the first answer", owner)
			s.wantFirst(first, 201)
			s.wantReplay(s.send(newRequest(there.charges(), mode.name, dollars)), first)
		})
	}
}

// Article 004: a decline is a real outcome. It is stored as failed, and replayed with its status and its body.
func TestArticle004DeclineIsStoredAsFailedAndReplayed(t *testing.T) {
	s := openShop(t)
	s.cards.decide = func(int) int { return http.StatusPaymentRequired }
	declined := atomicMode.handle(s.bundle, s.m, func(w http.ResponseWriter, _ *http.Request, charge func()) {
		charge() // its row goes with the decline
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = w.Write([]byte("insufficient funds"))
	})
	for name, h := range map[string]http.Handler{"lease": s.m.Handler(payment(s.cards.URL)), "atomic": declined} {
		site := s.open(h)
		first := s.send(newRequest(site.charges(), name, dollars))
		s.wantFirst(first, http.StatusPaymentRequired)
		if state := s.stateOf(name); state != "failed" {
			t.Errorf("%s mode: stored as %q, want failed", name, state)
		}
		s.wantReplay(s.send(newRequest(site.charges(), name, dollars)), first)
	}
	if calls, rows := len(s.cards.seen()), s.charges(); calls != 1 || rows != 0 {
		t.Errorf("%d calls and %d rows, want 1 and 0", calls, rows)
	}
}

// Article 004: a 503 from the processor is not an outcome. The key is given back, and the retry that comes next runs, under the
// same downstream key.
func TestArticle004FailureOfTheProcessorGivesTheKeyBack(t *testing.T) {
	s := openShop(t)
	s.cards.decide = func(call int) int {
		if call < 3 {
			return http.StatusServiceUnavailable
		}
		return http.StatusCreated
	}
	site := s.open(s.m.Handler(payment(s.cards.URL)))
	for range 2 {
		down := s.send(newRequest(site.charges(), k1, dollars))
		s.wantFirst(down, http.StatusServiceUnavailable)
		if down.problem().Type != "" || !strings.Contains(down.body, `"status":503`) {
			t.Errorf("the handler's own answer did not come through: %s", down.body)
		}
		if state := s.stateOf(k1); state != "released" {
			t.Errorf("the key is %q, want released", state)
		}
	}
	first := s.send(newRequest(site.charges(), k1, dollars))
	s.wantFirst(first, 201)
	s.wantReplay(s.send(newRequest(site.charges(), k1, dollars)), first)
	keys := s.cards.seen()
	if len(keys) != 3 || len(slices.Compact(keys)) != 1 || s.cards.charged() != 1 {
		t.Errorf("%d charges after calls under %q, want 1 after three under one key", s.cards.charged(), s.cards.seen())
	}
}

// Article 004: the night's client gives up before the processor answers, and comes back. It owns the key and keeps it over its
// retry loop, so that the card is charged once and the client hears of it.
func TestArticle004ClientKeepsOneKeyOverItsRetryLoop(t *testing.T) {
	s := openShop(t)
	var mu sync.Mutex
	var tries []string
	back := s.newGate()
	h := s.m.With(idem.Policy{Wait: 20 * time.Second}).Handler(payment(s.cards.URL))
	site := s.open(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		tries = append(tries, strings.Join(r.Header.Values("Idempotency-Key"), "|"))
		if len(tries) == 2 {
			back.open()
		}
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	s.cards.after = func(int) { back.wait() } // 11 s against 10, so to speak
	client := &http.Client{Transport: &idemhttp.Transport{TryTimeout: time.Second, MinBackoff: time.Millisecond}}
	r := newRequest(site.charges(), "", dollars)
	a, err := do(client, r)
	if err != nil || a.status != 201 {
		t.Fatalf("%d %s, %v; want 201", a.status, a.body, err)
	}
	if r.Header.Get("Idempotency-Key") != "" {
		t.Error("the caller's request was changed")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(tries) < 2 || len(slices.Compact(slices.Clone(tries))) != 1 || tries[0] == "" {
		t.Errorf("the tries came under %q, want one key for all", tries)
	}
	if calls := s.cards.seen(); len(calls) != 1 || s.cards.charged() != 1 {
		t.Errorf("%d calls, %d charges, want 1 and 1", len(calls), s.cards.charged())
	}
}
