package idemhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// heldHandler is a handler of either mode that tells when it has begun and goes on when it may.
type heldHandler struct{ begun, finish *gate }

func (s *shop) newHeld() *heldHandler { return &heldHandler{s.newGate(), s.newGate()} }

func (h *heldHandler) serve(w http.ResponseWriter, r *http.Request, charge func()) {
	h.begun.open()
	h.finish.wait()
	created(w, r, charge)
}

// C48: another body while the first still runs. In lease mode the key's row is there to be compared: 422 at once, from every
// process. In atomic mode it is not visible before it commits: 409 until then, and 422 afterwards.
func TestC48AnotherBodyWhileTheFirstRuns(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			s := s.in(t)
			policy, held := idem.Policy{Wait: 50 * time.Millisecond}, s.newHeld()
			here, there := s.open(mode.handle(s.bundle, s.m.With(policy), held.serve)), s.open(mode.handle(s.bundle, s.process(policy, 2), held.serve))
			answered := s.later(newRequest(here.charges(), mode.name, dollars))
			s.await("the first runs", held.begun)
			for _, url := range []string{here.charges(), there.charges()} {
				other := s.send(newRequest(url, mode.name, dollars9))
				if mode.name == leaseMode.name {
					s.wantProblem(other, 422, "key-reused")
					if after := other.header.Get("Retry-After"); after != "" {
						t.Errorf("Retry-After is %s, but coming back does not help", after)
					}
				} else {
					s.wantProblem(other, 409, "in-flight")
					s.wantRetryAfter(other, 1)
				}
			}
			held.finish.open()
			first := receive(s, "the first answer", answered)
			s.wantFirst(first, 201)
			for _, url := range []string{here.charges(), there.charges()} {
				s.wantProblem(s.send(newRequest(url, mode.name, dollars9)), 422, "key-reused")
				s.wantReplay(s.send(newRequest(url, mode.name, dollars)), first)
			}
		})
	}
}

// C48: a proxy lost patience after 60 s and sends the request again, to another process. While the first runs it is sent away,
// afterwards it gets the answer.
func TestC48RequestThatAProxyResendsAfterAMinute(t *testing.T) {
	s := openShop(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			s := s.in(t)
			policy, held := idem.Policy{Wait: 50 * time.Millisecond}, s.newHeld()
			here, there := s.open(mode.handle(s.bundle, s.m.With(policy), held.serve)), s.open(mode.handle(s.bundle, s.process(policy, 2), held.serve))
			before := s.charges()
			answered := s.later(newRequest(here.charges(), mode.name, dollars))
			s.await("the first runs", held.begun)
			most := 1 // in atomic mode nobody can see since when
			if mode.name == leaseMode.name {
				s.age(mode.name, time.Minute)
				most = 10
			}
			busy := s.send(newRequest(there.charges(), mode.name, dollars))
			s.wantProblem(busy, 409, "in-flight")
			s.wantRetryAfter(busy, most)
			held.finish.open()
			first := receive(s, "the first answer", answered)
			s.wantFirst(first, 201)
			s.age(mode.name, time.Minute)
			s.wantReplay(s.send(newRequest(there.charges(), mode.name, dollars)), first)
			if n := s.charges() - before; n != 1 {
				t.Errorf("%d charges, want 1", n)
			}
		})
	}
}

// C48: our own answers hold nothing of the earlier request or its answer, neither in their bodies nor in their headers. The one
// thing told is the first status, where the rest was not kept.
func TestC48ProblemsHoldNothingOfTheEarlierRequest(t *testing.T) {
	s := openShop(t)
	const secret = "s3cr3t"
	answers := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, secret)
	}
	streams := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, secret)
		_ = http.NewResponseController(w).Flush()
	}
	panics := func(http.ResponseWriter) { panic(secret) }
	request := func(o *site, key, body, path string) *http.Request {
		r := newRequest(o.URL+"/charges/"+path, key, body)
		r.Header.Set("X-Tenant", "T-"+secret)
		r.Header.Set("Authorization", "Bearer "+secret)
		return r
	}
	another := func(o *site, key string) *http.Request { // all of it differs, the key and its tenant excepted
		r := newRequest(o.URL+"/charges/2?q=2", key, `{}`)
		r.Header.Set("X-Tenant", "T-"+secret)
		return r
	}
	for _, mode := range modes {
		open := func(s *shop, serve func(http.ResponseWriter)) *site {
			return s.open(mode.handle(s.bundle, s.m.With(idem.Policy{Wait: 20 * time.Millisecond}), func(w http.ResponseWriter, _ *http.Request, charge func()) {
				charge()
				w.Header().Set("Location", "/receipts/"+secret)
				w.Header().Set("Etag", `"`+secret+`"`)
				w.Header().Set("X-Receipt", secret)
				serve(w)
			}), "POST /charges/{id}")
		}
		same := func(o *site, key string) *http.Request { return request(o, key, `{"card":"`+secret+`"}`, secret) }
		clean := func(t *testing.T, a answer) {
			t.Helper()
			if text := fmt.Sprint(a.body, a.header); strings.Contains(text, secret) || strings.Contains(text, "Receipt") {
				t.Errorf("the problem holds something of the earlier request: %s", text)
			}
		}
		t.Run(mode.name+"/key-reused", func(t *testing.T) {
			s := s.in(t)
			site := open(s, answers)
			s.wantFirst(s.send(same(site, mode.name+"-422")), 201)
			a := s.send(another(site, mode.name+"-422"))
			s.wantProblem(a, 422, "key-reused")
			clean(t, a)
		})
		t.Run(mode.name+"/in-flight", func(t *testing.T) {
			s := s.in(t)
			begun, finish := s.newGate(), s.newGate()
			site := open(s, func(w http.ResponseWriter) {
				begun.open()
				finish.wait()
				answers(w)
			})
			ended := s.later(same(site, mode.name+"-409"))
			s.await("the first runs", begun)
			a := s.send(same(site, mode.name+"-409"))
			s.wantProblem(a, 409, "in-flight")
			clean(t, a)
			finish.open()
			s.wantFirst(receive(s, "the first answer", ended), 201)
		})
		if mode.name == atomicMode.name {
			continue // it leaves nothing unknown, and keeps what it answers
		}
		t.Run(mode.name+"/outcome-unknown", func(t *testing.T) {
			s := s.in(t)
			site := open(s, panics)
			if a, err := do(http.DefaultClient, same(site, "unknown")); err == nil {
				t.Fatalf("a panic was answered: %d %s", a.status, a.body)
			}
			a := s.send(same(site, "unknown"))
			s.wantProblem(a, 409, "outcome-unknown")
			clean(t, a)
		})
		t.Run(mode.name+"/response-not-kept", func(t *testing.T) {
			s := s.in(t)
			site := open(s, streams)
			s.wantFirst(s.send(same(site, "streamed")), http.StatusAccepted)
			a := s.send(same(site, "streamed"))
			s.wantProblem(a, 409, "response-not-kept")
			if status := a.problem().ResponseStatus; status != http.StatusAccepted {
				t.Errorf("the first status is told as %d, want 202", status)
			}
			clean(t, a)
		})
	}
}
