package idemhttp_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pgidem/pgidem/idem"
)

// over is s as a client sends it under a key.
func (s sample) over(server *httptest.Server, tenant, key string) *http.Request {
	method, target := s.method, s.target
	if method == "" {
		method = http.MethodPost
	}
	if target == "" {
		target = "/charges"
	}
	r, err := http.NewRequest(method, server.URL+target, strings.NewReader(s.body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, values := range s.header {
		r.Header[name] = values
	}
	if r.Header.Get("Content-Type") == "" {
		r.Header.Del("Content-Type")
	}
	r.Header.Set("X-Tenant", tenant)
	r.Header.Set("Idempotency-Key", key)
	if s.outside != nil {
		s.outside(r)
	}
	return r
}

// ownKey is a key that no other test has.
func (b *bundle) ownKey() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(b.Name()))) }

// chunked makes a request's length unknown beforehand.
func chunked(r *http.Request) { r.ContentLength = -1 }

// bodies is a handler that charges, and notes what it was given to read.
type bodies struct {
	mu   sync.Mutex
	seen []string
}

func (s *bodies) serve(w http.ResponseWriter, r *http.Request, charge func()) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		body = []byte(err.Error())
	}
	s.mu.Lock()
	s.seen = append(s.seen, string(body))
	s.mu.Unlock()
	created(w, r, charge)
}

// take returns what was seen since the last time.
func (s *bodies) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// What the second request under a key can come to.
const (
	firstAnswer = "the first answer"
	keyReused   = "key-reused"
	ownAnswer   = "an answer of its own"
	redirected  = "a redirect, and nothing else"
)

// twice are requests under one key, and what the second comes to where the key belongs to tenant and endpoint, and where it
// belongs to the tenant.
var twice = []struct {
	name         string
	first, again sample
	perEndpoint  string
	perTenant    string
}{
	// C08
	{"another path parameter", sample{target: "/orders/1/refund", body: "{}"}, sample{target: "/orders/2/refund", body: "{}"}, keyReused, keyReused},
	{"another query", sample{target: "/refund?order=1", body: "{}"}, sample{target: "/refund?order=2", body: "{}"}, keyReused, keyReused},
	{"another method", sample{target: "/x", body: "{}"}, sample{method: "PATCH", target: "/x", body: "{}"}, ownAnswer, keyReused},
	{"an escaped path", sample{target: "/orders/1/refund", body: "{}"}, sample{target: "/orders/%31/refund", body: "{}"}, keyReused, keyReused},
	{"a slash at the end", sample{target: "/orders/1/refund", body: "{}"}, sample{target: "/orders/1/refund/", body: "{}"}, ownAnswer, keyReused},
	{"a doubled slash", sample{target: "/orders/1/refund", body: "{}"}, sample{target: "//orders/1/refund", body: "{}"}, redirected, redirected},
	{"another order in the query", sample{target: "/refund?a=1&b=2", body: "{}"}, sample{target: "/refund?b=2&a=1", body: "{}"}, keyReused, keyReused},
	{"another endpoint", sample{target: "/x", body: "{}"}, sample{target: "/charges", body: "{}"}, ownAnswer, keyReused},
	// C09
	{"2^53+1", jsonSample(`{"to":9007199254740992,"n":5}`), jsonSample(`{"to":9007199254740993,"n":5}`), keyReused, keyReused},
	{"beyond 64 bits", jsonSample(`{"to":18446744073709551616}`), jsonSample(`{"to":18446744073709551617}`), keyReused, keyReused},
	{"beyond a double", jsonSample(`{"to":1e400}`), jsonSample(`{"to":1e401}`), keyReused, keyReused},
	{"a double's last digit", jsonSample(`{"to":0.1}`), jsonSample(`{"to":0.10000000000000001}`), keyReused, keyReused},
	// C11
	{"a name twice, then once", jsonSample(`{"amount":1,"amount":900}`), jsonSample(`{"amount":900}`), keyReused, keyReused},
	{"a name twice, the other way round", jsonSample(`{"amount":1,"amount":900}`), jsonSample(`{"amount":900,"amount":1}`), keyReused, keyReused},
	{"a name in capitals", jsonSample(`{"amount":1,"AMOUNT":900}`), jsonSample(`{"amount":900}`), keyReused, keyReused},
	{"a name twice, sent again", jsonSample(`{"amount":1,"amount":900}`), jsonSample(`{"amount":1,"amount":900}`), firstAnswer, firstAnswer},
	// C47
	{"a form in another order", form("a=1&a=2"), form("a=2&a=1"), keyReused, keyReused},
	{"a form with less", form("a=1&a=2"), form("a=2"), keyReused, keyReused},
	{"a form", form("a=1&a=2"), form("a=1&a=2"), firstAnswer, firstAnswer},
	{"no body that is said to be JSON", jsonSample(""), jsonSample(""), firstAnswer, firstAnswer},
	{"no body, then null", jsonSample(""), jsonSample("null"), keyReused, keyReused},
	{"trailing text", jsonSample(`{"a":1}`), jsonSample(`{"a":1} x`), keyReused, keyReused},
	{"trailing text, sent again", jsonSample(`{"a":1} x`), jsonSample(`{"a":1} x`), firstAnswer, firstAnswer},
	{"chunks for a length", jsonSample(`{"a":1}`), sample{body: `{"a":1}`, outside: chunked}, firstAnswer, firstAnswer},
	{"a length for chunks", sample{body: "a=1", outside: chunked}, sample{body: "a=1"}, firstAnswer, firstAnswer},
	// C48
	{"1.0 for 1", jsonSample(`{"a":1}`), jsonSample(`{"a":1.0}`), keyReused, keyReused},
	{"-0 for 0", jsonSample(`{"a":0}`), jsonSample(`{"a":-0}`), keyReused, keyReused},
	{"another order of members", jsonSample(`{"a":1,"b":2}`), jsonSample("{ \"b\":2,\n\"a\":1 }"), firstAnswer, firstAnswer},
	{"an escaped <", jsonSample(`{"a":"<"}`), jsonSample(`{"a":"\u003c"}`), firstAnswer, firstAnswer},
	{"an escaped U+2028", jsonSample("{\"a\":\"\u2028\"}"), jsonSample(`{"a":"\u2028"}`), firstAnswer, firstAnswer},
	{"an escaped é", jsonSample(`{"a":"é"}`), jsonSample(`{"a":"\u00E9"}`), firstAnswer, firstAnswer},
	{"headers of the moment", jsonSample(`{"a":1}`),
		sample{body: `{"a":1}`, header: http.Header{"Date": {"now"}, "User-Agent": {"other"}, "Traceparent": {"00-1-1-01"}}}, firstAnswer, firstAnswer},
	{"another media type", jsonSample(`{"a":1}`), typed("text/plain", `{"a":1}`), keyReused, keyReused},
	// C31
	{"an escaped NUL", jsonSample(`{"note":"a\u0000b"}`), jsonSample(`{"note":"a\u0000c"}`), keyReused, keyReused},
}

func form(body string) sample { return typed("application/x-www-form-urlencoded", body) }

func TestSecondRequestUnderAKey(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		for scope, name := range []string{idem.ScopeEndpoint: "per endpoint", idem.ScopeTenant: "per tenant"} {
			t.Run(mode.name+" "+name, func(t *testing.T) {
				b := b.in(t)
				handler := new(bodies)
				m := b.m.With(idem.Policy{Scope: idem.Scope(scope)})
				server := b.serve(mode.handle(b, m, handler.serve), "/orders/{id}/refund", "/orders/{id}/refund/{$}", "/refund", "/x")
				for _, row := range twice {
					t.Run(row.name, func(t *testing.T) {
						want := row.perEndpoint
						if idem.Scope(scope) == idem.ScopeTenant {
							want = row.perTenant
						}
						b.in(t).secondRequest(server, handler, mode.name+name, row.first, row.again, want)
					})
				}
			})
		}
	}
}

// secondRequest sends two requests under one key to a server whose handler notes what it reads.
func (b *bundle) secondRequest(server *httptest.Server, handler *bodies, tenant string, first, again sample, want string) {
	b.Helper()
	saw := func(what ...string) {
		b.Helper()
		if seen := handler.take(); strings.Join(seen, "|") != strings.Join(what, "|") || len(seen) != len(what) {
			b.Fatalf("the handler read %q, want %q", seen, what)
		}
	}
	before := b.charges()
	answer1 := b.send(first.over(server, tenant, b.ownKey()))
	b.wantFirst(answer1, 201)
	saw(first.body)
	answer2, err := do(stayingClient, again.over(server, tenant, b.ownKey()))
	if err != nil {
		b.Fatal(err)
	}
	runs := 1
	switch want {
	case firstAnswer:
		b.wantReplay(answer2, answer1)
		saw()
	case keyReused:
		b.wantProblem(answer2, 422, "key-reused")
		saw()
		b.wantReplay(b.send(first.over(server, tenant, b.ownKey())), answer1) // the key is still the first one's
	case ownAnswer:
		b.wantFirst(answer2, 201)
		saw(again.body)
		runs = 2
	case redirected:
		if answer2.status/100 != 3 || answer2.replayed() {
			b.Fatalf("%d, want a redirect: %s", answer2.status, answer2.body)
		}
		saw()
	}
	if got := b.charges() - before; got != runs {
		b.Errorf("%d charges, want %d", got, runs)
	}
}

// stayingClient follows no redirect.
var stayingClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// The bytes that the handler never asks for count all the same.
func TestBodyThatTheHandlerDoesNotReadCounts(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			server := b.serve(mode.handle(b, b.m, created))
			for key, way := range map[string]func(*http.Request){"length": nil, "chunks": chunked} {
				send := func(body string) answer {
					return b.send(sample{body: body, outside: way}.over(server, mode.name, key))
				}
				first := send(`{"amount":4900}`)
				b.wantFirst(first, 201)
				b.wantReplay(send(`{"amount":4900}`), first)
				b.wantProblem(send(`{"amount":900000}`), 422, "key-reused")
			}
		})
	}
}
