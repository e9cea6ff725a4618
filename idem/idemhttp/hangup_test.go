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
