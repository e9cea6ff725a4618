package idemhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/pgproxy"
	"github.com/pgidem/pgidem/internal/testdb"
)

// elsewhere is the middleware of another process: it shares no memory with b.m.
func (b *bundle) elsewhere(p idem.Policy) *idemhttp.Middleware {
	m := *b.m
	m.Store = &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: b.pool, Policy: p}
	b.Cleanup(m.Store.Close)
	return &m
}

// P2 Same answer, over HTTP: who comes while the first runs, in its process or another, and who comes later, gets the first
// answer, or is told that it was not kept.
func TestP2SameAnswerOverHTTP(t *testing.T) {
	b := setup(t)
	patient := idem.Policy{Wait: 20 * time.Second, MaxBody: 1000}
	for name, test := range map[string]struct {
		h       handlerFunc
		dropped bool
	}{
		"a receipt":     {h: writes(201, `{"z":1,  "id":9007199254740993}`+"\n", "Location", "/charges/1", "Content-Type", "application/json")},
		"lines":         {h: writes(200, "x", "Link", "</2>", "Link", "</0>", "Etag", `"a"`)},
		"bytes":         {h: writes(200, "%PDF\x00\xff", "X-City", "M\xfcnchen")},
		"nothing":       {h: writes(204, "")},
		"a redirect":    {h: writes(303, "", "Location", "/orders/1")},
		"a refusal":     {h: writes(402, `{"decline":"insufficient_funds"}`)},
		"at the cap":    {h: writes(200, strings.Repeat("x", 1000))},
		"over the cap":  {h: writes(201, strings.Repeat("x", 1001)), dropped: true},
		"over by parts": {h: writesOften("0123456789", 101), dropped: true},
	} {
		t.Run(name, func(t *testing.T) {
			b.in(t).inBothModes(func(b *bundle, mode mode) {
				working, goOn := make(chan struct{}), make(chan struct{})
				var arrived atomic.Int64
				serve := func(m *idemhttp.Middleware) (url string) {
					h := mode.handle(b, m, func(w http.ResponseWriter, r *http.Request, charge func()) {
						close(working) // a second run panics
						<-goOn
						test.h(w, r, charge)
					})
					return b.quiet(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						arrived.Add(1)
						h.ServeHTTP(w, r)
					}))
				}
				here, there := serve(b.elsewhere(patient)), serve(b.elsewhere(patient))
				ask := func(url string) chan seen {
					answered := make(chan seen, 1)
					go func() { answered <- b.look(newRequest(url, `"`+b.Name()+`"`, "{}")) }()
					return answered
				}
				leader := ask(here)
				<-working
				rival := there
				if mode.name == "atomic" && name == "a refusal" {
					rival = here // elsewhere it may run between the rollback of the rows and the record of the refusal
				}
				waiting := []chan seen{ask(here), ask(rival)}
				b.eventually("both have come", func() bool { return arrived.Load() == 3 })
				close(goOn)
				first := <-leader
				later := []seen{<-waiting[0], <-waiting[1], <-ask(here), <-ask(there)}
				for i, again := range later {
					switch {
					case !test.dropped:
						b.wantSameAgain(first, again)
					case again.problem() != "response-not-kept" || !strings.Contains(again.Body, fmt.Sprintf(`"response_status":%d`, first.Status)):
						b.Errorf("%d: %+v", i, again)
					}
				}
			})
		})
	}
}

// P3 No wrong answer, over HTTP: a key that is used for anything else never gets the first one's answer, while that runs and
// afterwards, in either order; and another tenant does not learn that there is one.
func TestP3NoWrongAnswerOverHTTP(t *testing.T) {
	b := setup(t)
	receipt := func(w http.ResponseWriter, r *http.Request, charge func()) {
		charge()
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(201)
		_, _ = fmt.Fprintf(w, "receipt for %s %s %s %s", r.Header.Get("X-Tenant"), r.Method, r.URL, body)
	}
	type request struct{ method, path, tenant, body string }
	small := request{"POST", "/orders/1/refund?n=1", "T1", `{"amount":49}`}
	for name, other := range map[string]struct {
		request
		free bool // its own key, and not a mismatch
	}{
		"another amount":          {request{"POST", "/orders/1/refund?n=1", "T1", `{"amount":9000}`}, false},
		"another order":           {request{"POST", "/orders/2/refund?n=1", "T1", `{"amount":49}`}, false},
		"another query":           {request{"POST", "/orders/1/refund?n=2", "T1", `{"amount":49}`}, false},
		"a query of another kind": {request{"POST", "/orders/1/refund", "T1", `{"amount":49}`}, false},
		"another tenant":          {request{"POST", "/orders/1/refund?n=1", "T2", `{"amount":49}`}, true},
		"a tenant in lower case":  {request{"POST", "/orders/1/refund?n=1", "t1", `{"amount":9000}`}, true},
		"another method":          {request{"PATCH", "/orders/1/refund?n=1", "T1", `{"amount":49}`}, true},
		"another endpoint":        {request{"POST", "/charges?n=1", "T1", `{"amount":49}`}, true},
	} {
		for order, pair := range map[string][2]request{"in order": {small, other.request}, "the other way round": {other.request, small}} {
			t.Run(name+" "+order, func(t *testing.T) {
				b.in(t).inBothModes(func(b *bundle, mode mode) {
					working, goOn := make(chan struct{}), make(chan struct{})
					m := b.elsewhere(idem.Policy{Wait: -1})
					server, _ := b.serveLogged(mode.handle(b, m, func(w http.ResponseWriter, r *http.Request, charge func()) {
						if r.Header.Get("X-Hold") != "" {
							close(working)
							<-goOn
						}
						receipt(w, r, charge)
					}), "/orders/{id}/refund")
					ask := func(r request, hold string) seen {
						to := newRequest(server.URL+r.path, `"`+b.Name()+`"`, r.body)
						to.Method = r.method
						to.Header.Set("X-Tenant", r.tenant)
						to.Header.Set("X-Hold", hold)
						return b.look(to)
					}
					want := func(r request) string {
						return fmt.Sprintf("receipt for %s %s %s %s", r.tenant, r.method, r.path, r.body)
					}
					answered := make(chan seen, 1)
					go func() { answered <- ask(pair[0], "1") }()
					<-working
					during := ask(pair[1], "")
					close(goOn)
					if first := <-answered; first.Status != 201 || first.Body != want(pair[0]) {
						b.Fatalf("first: %+v", first)
					}
					after := ask(pair[1], "")
					again := ask(pair[0], "")
					if again.Body != want(pair[0]) || !again.replayed() {
						b.Errorf("the first one's retry: %+v", again)
					}
					if other.free {
						if during.Status != 201 || during.Body != want(pair[1]) || during.replayed() || after.Body != want(pair[1]) || !after.replayed() {
							b.Errorf("during %+v, after %+v; want its own receipt", during, after)
						}
						return
					}
					if during.problem() == "" || after.problem() != "key-reused" || strings.Contains(during.Body+after.Body, "receipt") {
						b.Errorf("during %+v, after %+v; want to be refused", during, after)
					}
				})
			})
		}
	}
}

// P4 Durable before visible, over HTTP: while the COMMIT that records the answer is held up between here and the server, the
// client has received nothing.
func TestP4DurableBeforeVisibleOverHTTP(t *testing.T) {
	b := setup(t)
	for name, h := range map[string]handlerFunc{
		"an answer":     created,
		"a refusal":     writes(402, "declined"),
		"a long answer": writes(200, strings.Repeat("x", 100_000)),
		"over the cap":  writesOften(strings.Repeat("x", 10_000), 200),
		"flushed":       flushes(200, nil),
	} {
		for _, mode := range modes {
			t.Run(name+"/"+mode.name, func(t *testing.T) {
				b := b.in(t)
				var armed atomic.Bool
				held, goOn := make(chan struct{}), make(chan struct{})
				proxy := &pgproxy.Proxy{OnCommit: func() pgproxy.Fault {
					if armed.CompareAndSwap(true, false) {
						close(held)
						<-goOn
					}
					return pgproxy.Pass
				}}
				m := *b.m
				m.Store = &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: testdb.Pool(t, pgproxy.Start(t, proxy, b.pool.Config().ConnString()), func(c *pgxpool.Config) {
					c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // in which the proxy can read
				})}
				t.Cleanup(m.Store.Close)
				server, _ := b.serveLogged(mode.handle(b, &m, func(w http.ResponseWriter, r *http.Request, charge func()) {
					armed.Store(true)
					h(w, r, charge)
				}))
				client, err := net.Dial("tcp", server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				r := newRequest(server.URL+"/charges", `"`+t.Name()+`"`, "{}")
				r.Close = true
				if err := r.Write(client); err != nil {
					t.Fatal(err)
				}
				<-held
				_ = client.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
				if n, err := client.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("before the commit the client has %d bytes (%v)", n, err)
				}
				if state := b.stateOf(b.m, idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: t.Name()}); state == "committed" || state == "failed" {
					t.Errorf("the key is %s: this test holds up the wrong COMMIT", state)
				}
				close(goOn)
				_ = client.SetReadDeadline(time.Time{})
				answer, err := io.ReadAll(client)
				if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") || strings.Contains(string(answer), "problem+json") {
					t.Errorf("after it: %.200q, %v", answer, err)
				}
				again := b.look(newRequest(server.URL+"/charges", `"`+t.Name()+`"`, "{}"))
				if !again.replayed() && again.problem() != "response-not-kept" {
					t.Errorf("a retry: %+v", again)
				}
			})
		}
	}
}
