package idemhttp_test

import (
	"net/http"
	"testing"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// Transient gives the key back with an answer that is not kept, and only where the failed call was the only one.
func TestTransientGivesTheKeyBack(t *testing.T) {
	b := setup(t)
	for name, test := range map[string]struct {
		keys   int
		answer handlerFunc
		state  string
	}{
		"503, no call":                  {0, writes(503, ""), "released"},
		"503, the failed call":          {1, writes(503, ""), "released"},
		"429, the failed call":          {1, writes(429, ""), "released"},
		"503, two calls":                {2, writes(503, ""), "abandoned"},
		"429, two calls":                {2, writes(429, ""), "abandoned"},
		"402 is kept all the same":      {1, writes(402, ""), "failed"},
		"201 is kept all the same":      {1, writes(201, ""), "committed"},
		"503 over the cap":              {1, writes(503, long(20)), "abandoned"}, // it had to be decided before the end
		"a panic says nothing":          {1, func(http.ResponseWriter, *http.Request, func()) { panic(http.ErrAbortHandler) }, "abandoned"},
		"nothing written is a 200":      {1, nothing, "committed"},
		"streamed is kept all the same": {1, flushes(200, nil), "committed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			url := b.quiet(leaseMode.handle(b, b.m.With(tiny), func(w http.ResponseWriter, r *http.Request, charge func()) {
				l, _ := idemhttp.LeaseFrom(r.Context())
				for i := range test.keys {
					l.DownstreamKey(string(rune('a' + i)))
				}
				idemhttp.Transient(r.Context())
				test.answer(w, r, charge)
			}))
			b.look(newRequest(url, `"`+t.Name()+`"`, "{}"))
			if state := b.stateOf(b.m, idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: t.Name()}); state != test.state {
				t.Errorf("the key is %s, want %s", state, test.state)
			}
		})
	}
}

// Without a lease there is nothing to give back: atomic mode rolls back by itself.
func TestTransientWithoutALeaseDoesNothing(t *testing.T) {
	b := setup(t)
	idemhttp.Transient(t.Context())
	url := b.quiet(atomicMode.handle(b, b.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
		idemhttp.Transient(r.Context())
		created(w, r, charge)
	}))
	first := b.look(newRequest(url, "k", "{}"))
	b.wantSameAgain(first, b.look(newRequest(url, "k", "{}")))
}
