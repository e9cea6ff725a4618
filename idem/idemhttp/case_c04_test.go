package idemhttp_test

import (
	"net/http"
	"testing"

	"github.com/pgidem/pgidem/idem"
)

// C04: what happened at the processor stays happened, whatever the handler does next. The key is not given back "so that the
// client can retry": the retry is told at once that the outcome is unknown, and the processor hears of nothing.
func TestC04EffectThatIsFollowedByAFailureIsNotRepeated(t *testing.T) {
	s := openShop(t)
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, _, err := callCards(r, s.cards.URL); err != nil {
					t.Error(err)
				}
				fail.with(w)
			})
			here, there := s.open(s.m.Handler(h)), s.open(s.process(idem.Policy{}, 2).Handler(h))
			s.wantFailure(fail, newRequest(here.charges(), name, dollars))
			for _, url := range []string{here.charges(), there.charges(), here.charges()} {
				again := s.send(newRequest(url, name, dollars))
				s.wantProblem(again, 409, "outcome-unknown")
				if after := again.header.Get("Retry-After"); after != "" {
					t.Errorf("Retry-After is %s, but coming back does not help", after)
				}
			}
			if calls := len(s.cards.seen()); calls != 1 {
				t.Errorf("%d calls at the processor, want 1", calls)
			}
		})
	}
}

// C04: in atomic mode the failure takes effect and claim with it, so the retry may run.
func TestC04EffectOfAFailureInAtomicModeIsGone(t *testing.T) {
	s := openShop(t)
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			before, runs := s.charges(), 0
			site := s.open(atomicMode.handle(s.bundle, s.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
				if runs++; runs == 1 {
					charge()
					fail.with(w)
					return
				}
				created(w, r, charge)
			}))
			s.wantFailure(fail, newRequest(site.charges(), name, dollars))
			if state := s.stateOf(name); state != "" || s.charges() != before {
				t.Errorf("the key is %q after %d charges, want none of either", state, s.charges()-before)
			}
			first := s.send(newRequest(site.charges(), name, dollars))
			s.wantFirst(first, 201)
			s.wantReplay(s.send(newRequest(site.charges(), name, dollars)), first)
			if n := s.charges() - before; n != 1 || runs != 2 {
				t.Errorf("%d charges in %d runs, want 1 in 2", n, runs)
			}
		})
	}
}

// failure is how a handler fails after its effect.
type failure struct {
	with   func(w http.ResponseWriter)
	status int // what its own client gets; 0: a connection that was cut
}

var failures = map[string]failure{
	"panic": {with: func(http.ResponseWriter) { panic("smtp") }},
	"abort": {with: func(http.ResponseWriter) { panic(http.ErrAbortHandler) }},
	"500":   {with: func(w http.ResponseWriter) { http.Error(w, "smtp", http.StatusInternalServerError) }, status: 500},
	"503":   {with: func(w http.ResponseWriter) { http.Error(w, "smtp", http.StatusServiceUnavailable) }, status: 503},
}

// wantFailure sends r and fails unless its client gets what the handler did.
func (s *shop) wantFailure(f failure, r *http.Request) {
	s.Helper()
	a, err := do(http.DefaultClient, r)
	switch {
	case f.status == 0 && err == nil:
		s.Fatalf("the client got %d %s, want a connection that was cut", a.status, a.body)
	case f.status != 0 && (err != nil || a.status != f.status || a.body != "smtp\n" || a.replayed()):
		s.Fatalf("the client got %d %q, %v; want the handler's own %d", a.status, a.body, err, f.status)
	}
}
