package idemhttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// asked is one row of the table of requests in one mode.
type asked struct {
	*bundle
	mode mode
	m    *idemhttp.Middleware // the row's own
	key  idem.Key             // which the table speaks of
	runs atomic.Int64         // of the handler
	got  []asking
	// exceptions from what holds of all rows
	worked  bool // the handler runs although the answer is not its own
	changes bool // the key's row is written although the answer is not the handler's
}

// asking is one request whose answer the table gives.
type asking struct {
	answer
	method string
	before string // the key's row
	after  string
	runs   int64
}

func TestEveryRequestGetsWhatTheTableSays(t *testing.T) {
	table := tableUnder(t, requestTable)
	wantSameRows(t, table, requests)
	b := setup(t)
	b.makeContended()
	for _, row := range table {
		t.Run(row[0], func(t *testing.T) {
			for _, mode := range modesOf(t, row[1]) {
				t.Run(mode.name, func(t *testing.T) {
					b := b.in(t)
					m := *b.m
					a := &asked{bundle: b, mode: mode, m: &m, key: idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: t.Name()}}
					if requests[row[0]] == nil {
						return // reported above
					}
					requests[row[0]](a)
					want := []string{row[2], row[3], row[4]}
					for _, got := range a.got {
						if diff := cmp.Diff(want, []string{a.name(got), headersOf(got.answer), a.stateOf(a.m, a.key)}); diff != "" {
							t.Errorf("-docs +here:\n%s\n%d %s", diff, got.status, got.body)
						}
						a.check(got)
					}
					if a.got == nil {
						t.Error("nothing was asked")
					}
				})
			}
		})
	}
}

// name is the table's name for an answer.
func (a *asked) name(got asking) string {
	switch {
	case got.problem().Type != "":
		return fmt.Sprintf("%d `%s`", got.status, got.problem().Type)
	case got.status == 201 && got.body == foundDownstream:
		return "what it found"
	case got.replayed() && strings.Contains(got.body, "ch_"):
		return "the recorded answer"
	case got.status == 201 && (got.body == `{"id":"ch_1"}` || got.method == http.MethodHead):
		return "the handler's"
	}
	return got.body
}

// headersOf are the fields that the table names.
func headersOf(got answer) string {
	var names []string
	for _, name := range []string{"Idempotent-Replayed", "Retry-After"} {
		if _, ok := got.header[name]; ok {
			names = append(names, "`"+name+"`")
		}
	}
	return strings.Join(names, ", ")
}

// check holds what the text around the table says of all rows.
func (a *asked) check(got asking) {
	a.Helper()
	own := a.name(got) == "the handler's"
	if !own && !a.changes && got.before != "" && got.before != got.after {
		a.Errorf("the key's row was changed:\n%s\n%s", got.before, got.after)
	}
	if ran := got.runs == 1; ran != (own || a.worked) {
		a.Errorf("the handler ran %d times for %s", got.runs, a.name(got))
	}
	if after := got.header.Get("Retry-After"); after != "" {
		if n, err := strconv.Atoi(after); err != nil || n < 1 || n > 10 {
			a.Errorf("Retry-After: %q", after)
		}
	}
}

// handler is the one of the table: it charges and answers 201.
func (a *asked) handler(w http.ResponseWriter, r *http.Request, charge func()) {
	a.runs.Add(1)
	if body, err := io.ReadAll(r.Body); r.Method == http.MethodPost && (err != nil || len(body) == 0) {
		a.Errorf("the handler gets the body %q, %v", body, err)
	}
	created(w, r, charge)
}

// server runs the row's handler.
func (a *asked) server(patterns ...string) *httptest.Server {
	a.Helper()
	return a.serve(a.mode.handle(a.bundle, a.m, a.handler), patterns...)
}

// request is the request of the table under its key.
func (a *asked) request(server *httptest.Server) *http.Request {
	return a.requestTo(server, "/charges", `{"amount":49}`)
}

func (a *asked) requestTo(server *httptest.Server, path, body string) *http.Request {
	r := newRequest(server.URL+path, `"`+a.key.ID+`"`, body)
	r.Header.Set("X-Tenant", a.key.Tenant)
	return r
}

// ask sends the request whose answer the table gives.
func (a *asked) ask(r *http.Request) {
	a.Helper()
	a.watch(r.Method, func() answer { return a.send(r) })
}

func (a *asked) watch(method string, send func() answer) {
	a.Helper()
	before, runs := a.rowOf(a.key), a.runs.Load()
	got := send()
	a.got = append(a.got, asking{got, method, before, a.rowOf(a.key), a.runs.Load() - runs})
}

// finished is a server that has answered the request once.
func (a *asked) finished() *httptest.Server {
	a.Helper()
	server := a.server()
	a.wantFirst(a.send(a.request(server)), 201)
	return server
}

// running is a server on which the request runs until the test ends.
func (a *asked) running() *httptest.Server {
	a.Helper()
	working, goOn := make(chan struct{}), make(chan struct{})
	a.m = a.m.With(idem.Policy{Wait: -1})
	server := a.serve(a.mode.handle(a.bundle, a.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
		if r.Header.Get("X-Hold") != "" {
			close(working)
			<-goOn
			return
		}
		a.handler(w, r, charge)
	}))
	hold := a.request(server)
	hold.Header.Set("X-Hold", "1")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = do(http.DefaultClient, hold)
	}()
	a.Cleanup(func() { close(goOn); <-ended })
	select {
	case <-working:
	case <-time.After(20 * time.Second):
		a.Fatal("the first request does not run")
	}
	return server
}

// left leaves the key in lease mode by a handler that answers status.
func (a *asked) left(status int, state string) {
	a.Helper()
	server := a.serve(leaseMode.handle(a.bundle, a.m, writes(status, "")))
	a.send(a.request(server))
	if got := a.stateOf(a.m, a.key); got != state {
		a.Fatalf("after %d the key is %s, want %s", status, got, state)
	}
}

// age moves the key's times into the past, as if d had gone by.
func (a *asked) age(d time.Duration) {
	a.Helper()
	a.exec(`UPDATE idem.keys SET claimed_at = claimed_at - $3::interval, locked_until = locked_until - $3::interval,
		created_at = created_at - $3::interval, completed_at = completed_at - $3::interval, expires_at = expires_at - $3::interval
		WHERE tenant_id = $1 AND key = $2`, a.key.Tenant, a.key.ID, d)
}

// raw sends bytes and reads one answer.
func (a *asked) raw(server *httptest.Server, text string) answer {
	a.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		a.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	resp, err2 := http.ReadResponse(bufio.NewReader(conn), nil)
	if err = errors.Join(err, err2); err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}
