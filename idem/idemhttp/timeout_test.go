package idemhttp_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
)

// stopwatch is a context whose time is up when the test says so.
type stopwatch struct {
	context.Context
	up <-chan struct{}
}

func (s stopwatch) Done() <-chan struct{} { return s.up }

func (s stopwatch) Err() error {
	select {
	case <-s.up:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// limited is h under http.TimeoutHandler, whose time is up when up is closed.
func limited(h http.Handler, up <-chan struct{}) http.Handler {
	limit := http.TimeoutHandler(h, time.Hour, "too late")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit.ServeHTTP(w, r.WithContext(stopwatch{r.Context(), up}))
	})
}

// C48: with http.TimeoutHandler outside the client is told 503, and the answer that comes late is recorded and replayed.
func TestC48LateAnswerInsideATimeoutHandlerIsReplayed(t *testing.T) {
	b := setup(t)
	b.inBothModes(func(b *bundle, mode mode) {
		up, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		inner := mode.handle(b, b.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
			charge()
			close(up) // a second run panics
			<-goOn
			w.WriteHeader(201)
			_, _ = io.WriteString(w, `{"id":"ch_1"}`)
		})
		url := b.quiet(limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			inner.ServeHTTP(w, r)
		}), up))
		charges := b.charges()
		if got := b.look(newRequest(url, b.Name(), "{}")); got.Status != 503 || got.Body != "too late" {
			b.Errorf("the client gets %+v, want TimeoutHandler's 503", got)
		}
		close(goOn)
		<-ended
		again := b.look(newRequest(b.quiet(inner), b.Name(), "{}"))
		if again.Status != 201 || again.Body != `{"id":"ch_1"}` || !again.replayed() {
			b.Errorf("the retry gets %+v", again)
		}
		if n := b.charges() - charges; n != 1 {
			b.Errorf("%d charges, want 1", n)
		}
	})
}

// C48: with http.TimeoutHandler inside its 503 is an answer like any 503, while what it wraps may still be at work: it is not
// stored. In lease mode the outcome is unknown, and in atomic mode everything was rolled back.
func TestC48TimeoutInsideIsNotStored(t *testing.T) {
	b := setup(t)
	b.inBothModes(func(b *bundle, mode mode) {
		goOn, up := make(chan struct{}), make(chan struct{})
		defer close(goOn)
		slow := limited(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(up)
			<-goOn
		}), up)
		charges := b.charges()
		url := b.quiet(mode.handle(b, b.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
			charge() // here: a transaction is not for the goroutine that TimeoutHandler starts
			if r.Header.Get("X-Slow") != "" {
				slow.ServeHTTP(w, r)
			}
		}))
		r := newRequest(url, b.Name(), "{}")
		r.Header.Set("X-Slow", "1")
		if got := b.look(r); got.Status != 503 || got.Body != "too late" || got.problem() != "" {
			b.Errorf("the client gets %+v, want TimeoutHandler's 503", got)
		}
		again, n := b.look(newRequest(url, b.Name(), "{}")), b.charges()-charges
		ok := again.problem() == "outcome-unknown"
		if mode.name == "atomic" {
			ok = again.Status == 200 && !again.replayed()
		}
		if !ok || n != 1 {
			b.Errorf("the retry gets %+v, %d charges", again, n)
		}
	})
}

// The handler that outlives its time inside has no transaction any more.
func TestTransactionOfATimeoutInsideIsOver(t *testing.T) {
	b := setup(t)
	up, goOn, used := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	url := b.quiet(b.m.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		limited(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(up)
			<-goOn
			_, err := tx.Exec(t.Context(), "INSERT INTO charges (note) VALUES ('late')")
			used <- err
		}), up).ServeHTTP(w, r)
		return nil
	}))
	if got := b.look(newRequest(url, "k", "{}")); got.Status != 503 {
		t.Errorf("%+v", got)
	}
	close(goOn)
	if err := <-used; err == nil {
		t.Error("a statement in a transaction that is over succeeds")
	}
	if n := b.charges(); n != 0 {
		t.Errorf("%d charges, want none", n)
	}
	if state := b.stateOf(b.m, idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: "k"}); state != "none" {
		t.Errorf("the key is %s", state)
	}
}
