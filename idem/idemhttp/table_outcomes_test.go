package idemhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// outcome is a row of the table of outcomes: each of its handlers fits the row.
type outcome struct {
	handlers []handlerFunc
	tx       []idemhttp.TxHandlerFunc // in place of handlers
	policy   idem.Policy
	keepAll  bool
}

func TestEveryHandlerOutcomeBecomesWhatTheTableSays(t *testing.T) {
	table := tableUnder(t, outcomeTable)
	wantSameRows(t, table, outcomes)
	b := setup(t)
	b.exec("CREATE UNIQUE INDEX ON charges (note) WHERE note <> ''")
	b.exec("CREATE TABLE refunds (id integer UNIQUE DEFERRABLE INITIALLY DEFERRED)")
	b.exec("INSERT INTO refunds VALUES (1)")
	for _, row := range table {
		t.Run(row[0], func(t *testing.T) {
			outcome := outcomes[row[0]]
			for _, mode := range modesOf(t, row[1]) {
				for i, h := range outcome.handlers {
					t.Run(fmt.Sprint(mode.name, i), func(t *testing.T) {
						b := b.in(t)
						alone := b.look(newRequest(b.quiet(bare(h)), "k", "{}"))
						b.become(row[2:], mode, alone, outcome, func(m *idemhttp.Middleware, ran func()) http.Handler {
							return mode.handle(b, m, func(w http.ResponseWriter, r *http.Request, charge func()) {
								ran()
								h(w, r.WithContext(context.WithValue(r.Context(), poolContext{}, b.pool)), charge)
							})
						})
					})
				}
				for i, fn := range outcome.tx {
					t.Run(fmt.Sprint(mode.name, i), func(t *testing.T) {
						b := b.in(t)
						b.become(row[2:], mode, seen{}, outcome, func(m *idemhttp.Middleware, ran func()) http.Handler {
							return m.HandlerTx(func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
								ran()
								b.insert(r.Context(), tx)
								w.WriteHeader(201)
								return fn(w, r, tx)
							})
						})
					})
				}
			}
		})
	}
}

// quiet serves h at the URL that it returns.
func (b *bundle) quiet(h http.Handler) (url string) {
	b.Helper()
	server, _ := b.serveLogged(h)
	return server.URL + "/charges"
}

// become sends the request twice and compares what becomes of it with the row. alone is the answer without the middleware.
func (b *bundle) become(row []string, mode mode, alone seen, o outcome, handler func(m *idemhttp.Middleware, ran func()) http.Handler) {
	b.Helper()
	m, runs := b.m.With(o.policy), new(atomic.Int64)
	if o.keepAll {
		m.Outcome = idemhttp.KeepAll
	}
	url := b.quiet(handler(m, func() { runs.Add(1) }))
	key := idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: b.Name()}
	request := func() *http.Request { return newRequest(url, `"`+key.ID+`"`, "{}") }

	charges := b.charges()
	first := b.look(request())
	caller, state := b.callerGets(first, alone, key), b.stateOf(m, key)
	if effects := b.charges() - charges; mode.name == "atomic" && (effects == 1) != (state == "committed") || effects > 1 {
		b.Errorf("%d rows of the handler stand, and the key is %s", effects, state)
	}
	again := b.look(request())
	retry := "a new run"
	switch ran := runs.Load(); {
	case again.problem() != "" && ran == 1:
		retry = fmt.Sprintf("%d `%s`", again.Status, again.problem())
	case again.replayed() && ran == 1:
		retry = "the recorded answer"
		if caller == "as written" {
			b.wantSameAgain(first, again)
		}
	case ran != 2:
		retry = fmt.Sprintf("%+v", again)
	}
	if diff := cmp.Diff(row, []string{caller, state, retry}); diff != "" {
		b.Errorf("-docs +here:\n%s\n%+v", diff, first)
	}
}

// callerGets is the table's name for the first answer.
func (b *bundle) callerGets(first, alone seen, key idem.Key) string {
	b.Helper()
	switch {
	case first.problem() != "":
		return fmt.Sprintf("%d `%s`", first.Status, first.problem())
	case first.Cut && alone.Cut:
		return "a cut connection"
	case cmp.Equal(first, alone):
		return "as written"
	}
	found, err := (&idem.Store{Pool: b.pool}).Lookup(b.Context(), key)
	if err == nil && found.Response != nil && !first.replayed() &&
		found.Response.Status == first.Status && string(found.Response.Body) == first.Body {
		return "the recorded answer"
	}
	return cmp.Diff(alone, first)
}

// statuses are handlers that answer each of the statuses in a text.
func statuses(text string) (handlers []handlerFunc) {
	for _, digits := range regexp.MustCompile(`\b[1-5]\d\d\b`).FindAllString(text, -1) {
		status, _ := strconv.Atoi(digits)
		h := writes(status, `{"z":1,"a":"ch_1"}`+"\n", "Location", "/orders/1", "Etag", `"a"`)
		if status == http.StatusNoContent || status == http.StatusNotModified {
			h = writes(status, "", "Location", "/orders/1")
		}
		handlers = append(handlers, h)
	}
	return handlers
}

// under runs before every one of the handlers with the lease; nil where there is none.
func under(begin func(ctx context.Context, l *idem.Lease), handlers ...handlerFunc) (all []handlerFunc) {
	for _, h := range handlers {
		all = append(all, func(w http.ResponseWriter, r *http.Request, charge func()) {
			if l, ok := idemhttp.LeaseFrom(r.Context()); ok {
				begin(r.Context(), l)
			}
			h(w, r, charge)
		})
	}
	return all
}

// flushes writes and flushes the beginning of an answer, and goes on with h.
func flushes(status int, h handlerFunc) handlerFunc {
	return func(w http.ResponseWriter, r *http.Request, charge func()) {
		charge()
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "6")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "one")
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "two")
		if h != nil {
			h(w, r, charge)
		}
	}
}

// breaksOff writes half of what it declares, if anything, and ends by end.
func breaksOff(half string, end func()) handlerFunc {
	return func(w http.ResponseWriter, r *http.Request, charge func()) {
		charge()
		if half != "" {
			w.Header().Set("Content-Length", strconv.Itoa(2*len(half)))
			_, _ = io.WriteString(w, half)
		}
		end()
	}
}

// breakings are the ways in which a handler does not return.
func breakings() (handlers []handlerFunc) {
	for _, half := range []string{"", strings.Repeat("x", 1<<10), strings.Repeat("x", 8<<10)} {
		handlers = append(handlers,
			breaksOff(half, func() { panic(errors.New("smtp")) }),
			breaksOff(half, func() { panic(http.ErrAbortHandler) }),
			breaksOff(half, runtime.Goexit))
	}
	return handlers
}
