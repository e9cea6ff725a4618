package idemhttp_test

import (
	"context"
	"net/http"
	"testing"
)

// C02: the client hangs up after the charge and before the answer. The answer is recorded all the same, and the retry gets it:
// in variant b the handler looks at its context in between, and finds that it goes on.
func TestC02AnswerToAClientThatHungUpIsRecorded(t *testing.T) {
	s := openShop(t)
	for name, looks := range map[string]bool{"a-handler-that-does-not-look": false, "b-handler-that-looks-at-its-context": true} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			charged, goOn := s.newGate(), s.newGate()
			site := s.open(s.m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status, body, err := callCards(r, s.cards.URL)
				if err != nil {
					t.Error(err)
				}
				charged.open()
				goOn.wait()
				if looks && r.Context().Err() != nil {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				w.WriteHeader(status)
				_, _ = w.Write(body)
			})))
			visit := site.expect()
			ctx, hangUp := context.WithCancel(t.Context())
			hungUp := s.newGate()
			go func() {
				defer hungUp.open()
				if a, err := do(http.DefaultClient, newRequest(site.charges(), name, dollars).WithContext(ctx)); err == nil {
					t.Errorf("the client got %d %s", a.status, a.body)
				}
			}()
			s.await("the charge", charged)
			hangUp()
			receive(s, "the server notices", receive(s, "the request", visit.arrived).Done())
			goOn.open()
			receive(s, "the handler returns", visit.ended)
			s.await("the client's end", hungUp)
			again := s.send(newRequest(site.charges(), name, dollars))
			if key := s.cards.seen()[0]; !again.replayed() || again.status != 201 || again.body != `{"charge":"`+key+`","status":201}` {
				t.Errorf("the retry got %d %s, replayed %v; want the recorded 201", again.status, again.body, again.replayed())
			}
			if calls := len(s.cards.seen()); calls != 1 {
				t.Errorf("%d calls at the processor, want 1", calls)
			}
		})
	}
}
