package idemhttp_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// P8: unknown is a state, over HTTP. After a call whose end nobody knows the next request with the key runs nothing and is told
// so, whatever the handler answers or does.
func TestP8UnknownIsAStateOverHTTP(t *testing.T) {
	b := setup(t)
	answers := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	transient := func(names ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			lease, _ := idemhttp.LeaseFrom(r.Context())
			for _, name := range names {
				lease.DownstreamKey(name)
			}
			idemhttp.Transient(r.Context())
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	for name, after := range map[string]http.HandlerFunc{
		"500": answers(500), "502": answers(502), "503": answers(503), "504": answers(504),
		// which give the key back where there was no call
		"401": answers(401), "403": answers(403), "408": answers(408), "409": answers(409), "423": answers(423), "425": answers(425), "429": answers(429),
		"a panic": func(http.ResponseWriter, *http.Request) { panic("after the call") },
		"a panic after a part of the answer": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "201 ")
			panic(http.ErrAbortHandler)
		},
		"Transient after two calls": transient("charge", "notify"),
		"Release": func(w http.ResponseWriter, r *http.Request) {
			lease, _ := idemhttp.LeaseFrom(r.Context())
			_ = lease.Release(r.Context())
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"Abandon, and 201": func(w http.ResponseWriter, r *http.Request) {
			lease, _ := idemhttp.LeaseFrom(r.Context())
			_ = lease.Abandon(r.Context())
			w.WriteHeader(http.StatusCreated)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			var runs atomic.Int64
			server := b.serve(b.m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				runs.Add(1)
				lease, _ := idemhttp.LeaseFrom(r.Context())
				lease.DownstreamKey("charge") // the call
				after(w, r)
			})))
			key := `"` + name + `"`
			_, _ = do(http.DefaultClient, newRequest(server.URL+"/charges", key, `{"amount":49}`)) // a panic answers nothing
			b.wantProblem(b.post(server, key, `{"amount":49}`), 409, "outcome-unknown")
			if n := runs.Load(); n != 1 {
				t.Errorf("it ran %d times", n)
			}
		})
	}
}
