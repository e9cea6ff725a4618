package contract

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/testdb"
)

// Answer is a response that was read whole.
type Answer struct {
	Status   int
	Header   http.Header
	Body     string
	Replayed bool
	Problem  string // the end of its type; "" for an answer that is none
}

// Keys is a middleware on a database of the test's own, for what an adapter has to do besides the contract.
func Keys(t *testing.T) *idemhttp.Middleware {
	t.Helper()
	store := &idem.Store{Pool: testdb.New(t), Policy: idem.Policy{Wait: -1}}
	t.Cleanup(store.Close)
	return &idemhttp.Middleware{Store: store, Tenant: idemhttp.SingleTenant, Logger: slog.New(slog.DiscardHandler)}
}

// Twice sends one POST to a path of h, and sends it again under the same key.
func Twice(t *testing.T, h http.Handler, path string) (first, again Answer) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	key := idemhttp.NewKey()
	post := func() (a Answer) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(idemhttp.HeaderKey, key)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		a = Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}
		a.Replayed = resp.Header.Get(idemhttp.HeaderReplayed) == "true"
		if _, name, found := strings.Cut(a.Body, idemhttp.ProblemBase); found {
			a.Problem, _, _ = strings.Cut(name, `"`)
		}
		return a
	}
	return post(), post()
}
