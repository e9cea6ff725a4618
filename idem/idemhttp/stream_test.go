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
	"github.com/pgidem/pgidem/internal/testdb"
)

func failsWith(text string) idemhttp.TxHandlerFunc {
	return func(http.ResponseWriter, *http.Request, pgx.Tx) error { return errors.New(text) }
}

// flushing are the ways to flush.
var flushing = map[string]func(http.ResponseWriter) error{
	"ResponseController": func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() },
	"http.Flusher":       func(w http.ResponseWriter) error { w.(http.Flusher).Flush(); return nil },
}

// C24: in lease mode the first flush completes the key, and the client reads while the handler goes on.
func TestC24FlushedAnswerIsReadWhileTheHandlerRuns(t *testing.T) {
	b := setup(t)
	for name, flush := range flushing {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			goOn := make(chan struct{})
			elsewhere := *b.m
			elsewhere.Store = &idem.Store{NoCoalescing: testdb.NoCoalescing(), Pool: b.pool}
			defer elsewhere.Store.Close()
			retries := b.quiet(leaseMode.handle(b, &elsewhere, created)) // in another process
			url := b.quiet(leaseMode.handle(b, b.m, func(w http.ResponseWriter, _ *http.Request, charge func()) {
				charge()
				header := w.Header() // held on to, as handlers do
				header.Set("Trailer", "X-Sum")
				header.Set("X-Order", "1")
				w.WriteHeader(201)
				for _, chunk := range []string{"one ", "two ", "three"} {
					if _, err := io.WriteString(w, chunk); err != nil {
						t.Error(err)
					}
					if err := flush(w); err != nil {
						t.Error(err)
					}
					<-goOn
				}
				header.Set("X-Sum", "13")
				header.Set("X-Late", "1")
			}))
			resp, err := new(http.Transport).RoundTrip(newRequest(url, b.Name(), "{}"))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for _, chunk := range []string{"one ", "two ", "three"} {
				got := make([]byte, len(chunk))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != chunk {
					t.Fatalf("%q, %v; want %q while the handler runs", got, err, chunk)
				}
				again := b.look(newRequest(retries, b.Name(), "{}"))
				if again.problem() != "response-not-kept" {
					t.Errorf("a retry while it streams: %+v", again)
				}
				goOn <- struct{}{}
			}
			rest, err := io.ReadAll(resp.Body)
			if err != nil || len(rest) != 0 || resp.Header.Get("X-Order") != "1" || resp.StatusCode != 201 {
				t.Errorf("%d %v, then %q, %v", resp.StatusCode, resp.Header, rest, err)
			}
			if resp.Trailer.Get("X-Sum") != "13" || resp.Trailer.Get("X-Late") != "" {
				t.Errorf("trailer %v", resp.Trailer)
			}
		})
	}
	if n := b.charges(); n != 2 {
		t.Errorf("%d charges, want one for each", n)
	}
}

// C24: in atomic mode a flush does nothing, for nothing may leave before the commit, and the answer is kept.
func TestC24FlushInAtomicModeDoesNothing(t *testing.T) {
	b := setup(t)
	for name, flush := range flushing {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			goOn, flushed := make(chan struct{}), make(chan struct{})
			url := b.quiet(atomicMode.handle(b, b.m, func(w http.ResponseWriter, _ *http.Request, charge func()) {
				charge()
				w.WriteHeader(201)
				_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
				if err := flush(w); err != nil {
					t.Error(err)
				}
				close(flushed)
				<-goOn
			}))
			answered := make(chan seen, 1)
			go func() { answered <- b.look(newRequest(url, b.Name(), "{}")) }()
			<-flushed
			select {
			case got := <-answered:
				t.Errorf("answered while the handler runs: %+v", got)
			case <-time.After(100 * time.Millisecond):
			}
			close(goOn)
			first := <-answered
			if first.Status != 201 || len(first.Body) != 10_000 {
				t.Errorf("%+v", first)
			}
			b.wantSameAgain(first, b.look(newRequest(url, b.Name(), "{}")))
		})
	}
}

// The answer that is over the cap goes out live from the byte that is too much, and the key is completed before it does.
func TestAnswerOverTheCapStreamsOnceTheKeyIsCompleted(t *testing.T) {
	b := setup(t)
	b.m = b.m.With(idem.Policy{MaxBody: 1000})
	states := make(chan string, 3)
	url := b.quiet(leaseMode.handle(b, b.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
		charge()
		key := idem.Key{Tenant: "T1", Endpoint: "POST /charges", ID: "k"}
		for _, piece := range []string{strings.Repeat("a", 1000), "b", "c"} {
			if _, err := io.WriteString(w, piece); err != nil {
				t.Error(err)
			}
			states <- b.stateOf(b.m, key)
		}
	}))
	first := b.look(newRequest(url, "k", "{}"))
	if first.Body != strings.Repeat("a", 1000)+"bc" || first.Status != 200 || first.Cut {
		t.Errorf("%+v", first)
	}
	for i, want := range []string{"held", "committed", "committed"} {
		if got := <-states; got != want {
			t.Errorf("after %d pieces the key is %s, want %s", i+1, got, want)
		}
	}
	if again := b.look(newRequest(url, "k", "{}")); again.problem() != "response-not-kept" {
		t.Errorf("%+v", again)
	}
}

// A stream that cannot be recorded does not begin: what the handler writes is refused, and its client is told the truth.
func TestStreamDoesNotBeginUnderALostLease(t *testing.T) {
	b := setup(t)
	for name, write := range map[string]func(w http.ResponseWriter) error{
		"by a flush":   func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() },
		"over the cap": func(w http.ResponseWriter) error { _, err := w.Write(make([]byte, 2<<20)); return err },
	} {
		t.Run(name, func(t *testing.T) {
			b := b.in(t)
			url := b.quiet(b.m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "secret")
				b.exec("UPDATE idem.keys SET fence = fence + 1, claim_id = gen_random_uuid() WHERE key = $1", b.Name())
				if err := write(w); !errors.Is(err, idem.ErrLeaseLost) {
					t.Errorf("%v, want a lost lease", err)
				}
				if _, err := io.WriteString(w, "more"); !errors.Is(err, idem.ErrLeaseLost) {
					t.Errorf("then %v, want a lost lease", err)
				}
			})))
			got := b.look(newRequest(url, b.Name(), "{}"))
			if got.problem() != "in-flight" || got.Header.Get("Retry-After") == "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The handler that has completed its lease streams nothing of its own: the recorded answer is sent.
func TestStreamAfterCompleteIsRefused(t *testing.T) {
	b := setup(t)
	url := b.quiet(b.m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, _ := idemhttp.LeaseFrom(r.Context())
		if err := lease.Complete(r.Context(), &idem.Response{Status: 202, Body: []byte("recorded")}); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "other")
		if err := http.NewResponseController(w).Flush(); err == nil {
			t.Error("another answer than the recorded one is streamed")
		}
	})))
	first, again := b.look(newRequest(url, "k", "{}")), b.look(newRequest(url, "k", "{}"))
	if first.Status != 202 || first.Body != "recorded" || first.replayed() || again.Body != "recorded" || !again.replayed() {
		t.Errorf("%+v, then %+v", first, again)
	}
}

// A client that hangs up in the middle of a stream changes nothing.
func TestStreamToAClientThatHangsUpIsCompleted(t *testing.T) {
	b := setup(t)
	ended := make(chan struct{})
	url := b.quiet(leaseMode.handle(b, b.m, func(w http.ResponseWriter, r *http.Request, charge func()) {
		charge()
		defer close(ended)
		_, _ = io.WriteString(w, "one")
		_ = http.NewResponseController(w).Flush()
		b.eventually("a write fails", func() bool {
			_, err := io.WriteString(w, strings.Repeat("x", 100_000))
			return err != nil
		})
		if err := r.Context().Err(); err != nil {
			t.Errorf("the handler's context: %v", err)
		}
	}))
	ctx, hangUp := context.WithCancel(t.Context())
	resp, err := new(http.Transport).RoundTrip(newRequest(url, "k", "{}").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	hangUp()
	_ = resp.Body.Close()
	<-ended
	if again := b.look(newRequest(url, "k", "{}")); again.problem() != "response-not-kept" || b.charges() != 1 {
		t.Errorf("%+v, %d charges", again, b.charges())
	}
}
