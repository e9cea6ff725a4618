package idemtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pgidem/pgidem/idem/idemtest"
)

// What a unit test never sends: all copies are inside the handler before the first one leaves it.
func TestCopiesOfAKeyOverlap(t *testing.T) {
	t.Parallel()
	const copies = 6
	var mu sync.Mutex
	inside := map[string]chan struct{}{}
	count := map[string]int{}
	right := &shop{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		mu.Lock()
		if inside[key] == nil {
			inside[key] = make(chan struct{})
		}
		all := inside[key]
		if count[key]++; count[key] == copies {
			close(all)
		}
		mu.Unlock()
		<-all
		right.ServeHTTP(w, r)
	})
	report := idemtest.Storm{Handler: h, Copies: copies, Keys: 3, Rounds: 4, Budget: time.Minute}.Run(t)
	want := idemtest.Report{Rounds: 4, Keys: 12, Requests: 84, Firsts: 12, Replays: 72, Retries: 12, Duration: report.Duration}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
}

func TestRequestsOfAKeyAreEqual(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]string{}
	right := &shop{keyOf: func(r *http.Request) string {
		body, _ := io.ReadAll(r.Body)
		text := strings.Join([]string{r.Method, r.Host, r.RequestURI, r.Header.Get("X-Id"), string(body)}, " ")
		mu.Lock()
		defer mu.Unlock()
		if key := string(body[:36]); seen[key] == "" {
			seen[key] = text
		} else if seen[key] != text {
			t.Errorf("%q, and %q", seen[key], text)
		}
		return string(body[:36])
	}}
	asked := 0
	idemtest.Storm{Handler: right, Keys: 2, Rounds: 2, Request: func(key string) *http.Request { // the key is in the body, as at Square
		asked++
		r := httptest.NewRequest(http.MethodPut, "https://api.example/v1/pay%2Fments?q=1", strings.NewReader(key+strings.Repeat("x", 1<<16)))
		r.Header.Set("X-Id", time.Now().String())
		return r
	}}.Run(t)
	if asked != 4 || len(seen) != 4 {
		t.Errorf("asked for %d requests, saw %d keys", asked, len(seen))
	}
	for _, text := range seen {
		if !strings.HasPrefix(text, "PUT api.example /v1/pay%2Fments?q=1 ") {
			t.Error(text)
		}
	}
}

func TestServerThatRunsElsewhereIsStormed(t *testing.T) {
	t.Parallel()
	right := &shop{}
	server := httptest.NewServer(right)
	defer server.Close()
	if report := (idemtest.Storm{URL: server.URL, Effects: right.count, Rounds: 2}).Run(t); report.Firsts != 16 {
		t.Error(report)
	}
}

func TestStormEndsByItself(t *testing.T) {
	t.Parallel()
	if report := (idemtest.Storm{Handler: &shop{}, Rounds: 3, Budget: time.Minute}).Run(t); report.Rounds != 3 {
		t.Error(report)
	}
	if report := (idemtest.Storm{Handler: &shop{}, Budget: 1}).Run(t); report.Rounds != 1 {
		t.Error(report)
	}
}

// A handler that has answered and is still at work may yet charge.
func TestEffectsAreCountedWhenTheHandlersHaveEnded(t *testing.T) {
	t.Parallel()
	const copies = 2
	var running atomic.Int64
	var asked sync.Map // by key
	right := &shop{first: func(w http.ResponseWriter, id int64) {
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusCreated)
	}, duplicate: func(w http.ResponseWriter, id int64) {
		w.Header().Set("Idempotent-Replayed", "true")
		w.WriteHeader(http.StatusCreated)
	}}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		running.Add(1)
		defer running.Add(-1)
		right.ServeHTTP(w, r)
		counter, _ := asked.LoadOrStore(key, &arrivals{all: make(chan struct{})})
		arrived := counter.(*arrivals)
		if arrived.n.Add(1) == copies {
			close(arrived.all)
		}
		if w.Header().Get("Idempotent-Replayed") == "" {
			if err := http.NewResponseController(w).Flush(); err != nil { // the client has all of it
				t.Error(err)
			}
			<-arrived.all
		}
	})
	idemtest.Storm{Handler: h, Copies: copies, Rounds: 50, Budget: time.Minute, Effects: func(ctx context.Context) (int, error) {
		if n := running.Load(); n > 0 {
			t.Errorf("counted while %d handlers run", n)
		}
		return right.count(ctx)
	}}.Run(t)
}

type arrivals struct {
	n   atomic.Int64
	all chan struct{}
}

func TestPatienceBoundsARequest(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := idemtest.Storm{Handler: h, Keys: 1, Patience: 50 * time.Millisecond}.Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not within 50ms") {
		t.Error(err)
	}
}

func TestStormThatCannotBeSentIsNoFault(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	cancelled, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	for name, c := range map[string]struct {
		ctx   context.Context
		storm idemtest.Storm
		want  string
	}{
		"nothing to storm":  {storm: idemtest.Storm{}, want: "needs a Handler"},
		"no host":           {storm: idemtest.Storm{URL: "localhost"}, want: "needs a Handler"},
		"no URL":            {storm: idemtest.Storm{URL: "http://a b"}, want: "invalid character"},
		"nobody there":      {storm: idemtest.Storm{URL: closed.URL}, want: "refused"},
		"context has ended": {ctx: cancelled, storm: idemtest.Storm{Handler: &shop{}}, want: "enough"},
		"no count": {storm: idemtest.Storm{Handler: &shop{}, Effects: func(context.Context) (int, error) { return 0, io.ErrNoProgress }},
			want: "count the effects: multiple Read"},
		"no request": {storm: idemtest.Storm{Handler: &shop{}, Request: func(string) *http.Request { return nil }}, want: "there is no request"},
		"no body": {storm: idemtest.Storm{Handler: &shop{}, Request: func(string) *http.Request {
			return httptest.NewRequest("POST", "/", iotest.ErrReader(io.ErrNoProgress))
		}}, want: "the body of the request: multiple Read"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := c.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			_, err := c.storm.Check(ctx)
			if err == nil || errors.As(err, new(idemtest.Faults)) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			h := hear(t, func(tb testing.TB) { c.storm.Run(tb) })
			if c.ctx == nil && (!strings.Contains(h.fatal, c.want) || len(h.errors) > 0) {
				t.Errorf("Run: fatal %q, errors %q", h.fatal, h.errors)
			}
		})
	}
}

func TestRunFailsTheTestOnceAFault(t *testing.T) {
	t.Parallel()
	n := &naive{gap: 20 * time.Millisecond}
	h := hear(t, func(tb testing.TB) { idemtest.Storm{Handler: n, Effects: n.count}.Run(tb) })
	if len(h.errors) != 2 || h.fatal != "" || len(h.log) != 1 || !strings.Contains(h.log[0], "storm: 1 rounds, 8 keys, 48 requests (8 of them retries)") {
		t.Errorf("errors %q, fatal %q, log %q", h.errors, h.fatal, h.log)
	}
	h = hear(t, func(tb testing.TB) { idemtest.Storm{Handler: &shop{}, Rounds: 1}.Run(tb) })
	if len(h.errors) != 0 || h.fatal != "" || len(h.log) != 1 {
		t.Errorf("errors %q, fatal %q, log %q", h.errors, h.fatal, h.log)
	}
}
