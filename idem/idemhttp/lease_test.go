package idemhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

func TestLeaseIsThereInLeaseModeAlone(t *testing.T) {
	b := setup(t)
	b.m.Optional = true
	asks := func(want bool) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if l, ok := idemhttp.LeaseFrom(r.Context()); ok != want || (l != nil) != want {
				t.Errorf("%s: LeaseFrom returns %v, %v", r.Method, l, ok)
			}
		})
	}
	b.send(newRequest(b.quiet(b.m.Handler(asks(true))), "k", "{}"))
	b.send(newRequest(b.quiet(b.m.Handler(asks(false))), "", "{}"))
	safe := newRequest(b.quiet(b.m.Handler(asks(false))), "k", "{}")
	safe.Method = http.MethodGet
	b.send(safe)
	b.send(newRequest(b.quiet(b.m.HandlerTx(func(w http.ResponseWriter, r *http.Request, _ pgx.Tx) error {
		asks(false).ServeHTTP(w, r)
		return nil
	})), "tx", "{}"))
	if _, ok := idemhttp.LeaseFrom(t.Context()); ok {
		t.Error("a lease in no request")
	}
}

// A handler that calls out without a downstream key is warned about, once and not at every request.
func TestHandlerWithoutADownstreamKeyIsWarnedAboutOnce(t *testing.T) {
	b := setup(t)
	warnings := func() int { return strings.Count(b.log.String(), "asked for no downstream key") }
	careless := b.quiet(b.m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	for _, key := range []string{"a", "b", "b"} {
		b.send(newRequest(careless, key, "{}"))
	}
	if n := warnings(); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, b.log)
	}
	careful := b.quiet(b.m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { idemhttp.LeaseFrom(r.Context()) })))
	b.send(newRequest(careful, "c", "{}"))
	b.send(newRequest(b.quiet(atomicMode.handle(b, b.m, created)), "d", "{}"))
	if n := warnings(); n != 1 {
		t.Errorf("%d warnings, want still 1:\n%s", n, b.log)
	}
}

// The context of the handler ends when, and only when, the key is another's.
func TestHandlersContextEndsWithTheLease(t *testing.T) {
	b := setup(t)
	m := b.m.With(idem.Policy{Lease: 300 * time.Millisecond})
	url := b.quiet(m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b.exec("UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid() WHERE key = 'k'")
		select {
		case <-r.Context().Done():
			if err := context.Cause(r.Context()); !errors.Is(err, idem.ErrLeaseLost) {
				t.Errorf("ended by %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the handler does not hear that its key is lost")
		}
	})))
	if got := b.look(newRequest(url, "k", "{}")); got.problem() != "in-flight" {
		t.Errorf("%+v", got)
	}
}

// The rows of CompleteTx and the answer are one: whatever the handler does afterwards, every caller gets the recorded answer.
func TestCompleteTxDecidesWhateverFollows(t *testing.T) {
	b := setup(t)
	for name, test := range map[string]struct {
		then handlerFunc
		cut  bool
	}{
		"nothing":           {then: nothing},
		"the same answer":   {then: writes(202, `{"id":"ch_2"}`)},
		"a failure":         {then: writes(500, "the answer could not be rendered")},
		"what is not kept":  {then: writes(429, "later")},
		"another answer":    {then: writes(201, "other")},
		"a panic":           {then: func(http.ResponseWriter, *http.Request, func()) { panic(http.ErrAbortHandler) }, cut: true},
		"Transient and 503": {then: transient(0)},
		"Release and 503":   {then: under(release, writes(503, ""))[0]},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			charges := b.charges()
			url := b.quiet(b.m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				l, _ := idemhttp.LeaseFrom(r.Context())
				err := pgx.BeginFunc(r.Context(), b.pool, func(tx pgx.Tx) error {
					b.insert(r.Context(), tx)
					return l.CompleteTx(r.Context(), tx, kept)
				})
				if err != nil {
					t.Error(err)
				}
				test.then(w, r, func() {})
			})))
			first, again := b.look(newRequest(url, `"`+t.Name()+`"`, "{}")), b.look(newRequest(url, `"`+t.Name()+`"`, "{}"))
			if first.Cut != test.cut || !test.cut && (first.Status != 202 || first.Body != `{"id":"ch_2"}` || first.replayed()) {
				t.Errorf("first: %+v", first)
			}
			if again.Status != 202 || again.Body != `{"id":"ch_2"}` || !again.replayed() {
				t.Errorf("again: %+v", again)
			}
			if n := b.charges() - charges; n != 1 {
				t.Errorf("%d charges, want 1", n)
			}
		})
	}
}

// The key for what is called downstream is the same at every try of a request, and another one for another request.
func TestDownstreamKeyIsThatOfTheRequest(t *testing.T) {
	b := setup(t)
	m := b.m.With(idem.Policy{Stale: idem.StaleRerun})
	url := b.quiet(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l, _ := idemhttp.LeaseFrom(r.Context())
		w.WriteHeader(502)
		_, _ = io.WriteString(w, l.DownstreamKey("charge"))
	})))
	first, again, other := b.look(newRequest(url, "k", "{}")), b.look(newRequest(url, "k", "{}")), b.look(newRequest(url, "other", "{}"))
	if len(first.Body) != 36 || first.Body != again.Body || first.Body == other.Body || again.replayed() {
		t.Errorf("%q, %q, and for another request %q", first.Body, again.Body, other.Body)
	}
}
