package idemhttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Whoever watches the log for errors is not called because a client closed its laptop.
func TestClientThatHangsUpIsNoErrorInTheLog(t *testing.T) {
	b := setup(t)
	working, ended := make(chan struct{}), make(chan struct{})
	handler := b.m.HandlerTx(func(_ http.ResponseWriter, r *http.Request, _ pgx.Tx) error {
		close(working)
		<-r.Context().Done()
		return context.Cause(r.Context())
	})
	server := b.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		handler.ServeHTTP(w, r)
	}))
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		<-working
		hangUp()
	}()
	if _, err := do(http.DefaultClient, newRequest(server.URL+"/charges", "k", `{}`).WithContext(ctx)); err == nil {
		t.Fatal("the client got an answer")
	}
	<-ended
	if log := b.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("it is logged as an error:\n%s", log)
	}
}

// Nor because a process is being deployed: it sends its clients to the next one.
func TestDrainingProcessIsNoErrorInTheLog(t *testing.T) {
	b := setup(t)
	if err := b.m.Store.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, mode := range modes {
		a := b.post(b.serve(mode.handle(b, b.m, created)), mode.name, `{}`)
		b.wantProblem(a, http.StatusServiceUnavailable, "unavailable")
		if a.header.Get("Retry-After") == "" {
			t.Errorf("%s: the client is not told to come back", mode.name)
		}
	}
	if log := b.log.String(); strings.Contains(log, "level=ERROR") || b.charges() != 0 {
		t.Errorf("%d charges; the log:\n%s", b.charges(), log)
	}
}
