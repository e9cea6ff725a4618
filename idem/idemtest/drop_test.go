package idemtest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgidem/pgidem/idem/idemtest"
)

// What a handler sees of a client that hangs up, at each point.
func TestDropHangsUpAtItsPoint(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		at   idemtest.Point
		read int   // bytes of the body
		err  error // of reading it
	}{
		"after the headers":         {idemtest.AfterHeaders, 0, io.ErrUnexpectedEOF},
		"half-way through the body": {idemtest.HalfBody, 50, io.ErrUnexpectedEOF},
		"after the request":         {idemtest.AfterRequest, 100, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ended := false
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RequestURI() != "/a?b=c" || r.Header.Get("Idempotency-Key") != "k" || r.ContentLength != 100 {
					t.Errorf("got %s %v", r.URL, r.Header)
				}
				read, err := io.ReadAll(r.Body)
				if len(read) != c.read || err != c.err {
					t.Errorf("read %d bytes and %v, want %d and %v", len(read), err, c.read, c.err)
				}
				<-r.Context().Done() // the server has noticed
				ended = true
			})
			r := httptest.NewRequest(http.MethodPost, "https://api.example/a?b=c", strings.NewReader(body))
			r.Header.Set("Idempotency-Key", "k")
			idemtest.Drop(t, h, r, c.at)
			if !ended {
				t.Error("Drop returned before the handler")
			}
		})
	}
}

func TestHangUpReturnsWhenTheServerHasNoticed(t *testing.T) {
	t.Parallel()
	before := false
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = keyOf(r)
		before = r.Context().Err() == nil
		idemtest.HangUp(context.WithoutCancel(r.Context()))
		if r.Context().Err() == nil {
			t.Error("the client is still there")
		}
		idemtest.HangUp(r.Context())
	})
	idemtest.Drop(t, h, newCharge("k"), idemtest.InHandler)
	if !before {
		t.Error("the client was gone before")
	}
	idemtest.HangUp(t.Context()) // no request at all

	stays := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		idemtest.HangUp(r.Context())
		_, _ = w.Write([]byte("hello"))
	})
	idemtest.Drop(t, stays, newCharge("k"), idemtest.InAnswer) // at its own point, and not at HangUp
}

func TestDropInTheAnswerResetsTheConnection(t *testing.T) {
	t.Parallel()
	var err error
	written := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		for piece := bytes.Repeat([]byte("x"), 1<<10); err == nil && written < 1<<30; written += n {
			n, err = w.Write(piece)
		}
	})
	idemtest.Drop(t, h, newCharge("k"), idemtest.InAnswer)
	if err == nil || !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("%d bytes written, and %v", written, err)
	}
	t.Logf("%d KiB written", written>>10)
}

func TestDropThatMissesItsPointFails(t *testing.T) {
	t.Parallel()
	quiet := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	aborts := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	empty := func() *http.Request { return httptest.NewRequest(http.MethodPost, "/", nil) }
	refused := empty()
	refused.Header.Set("Expect", "a miracle") // net/http answers 417 by itself
	for name, c := range map[string]struct {
		h    http.Handler
		r    *http.Request
		at   idemtest.Point
		want string
	}{
		"nobody calls HangUp":        {quiet, empty(), idemtest.InHandler, "HangUp was not called"},
		"there is no answer":         {aborts, empty(), idemtest.InAnswer, "there was no answer: EOF"},
		"there is no body":           {quiet, empty(), idemtest.HalfBody, "no body"},
		"net/http refuses by itself": {quiet, refused, idemtest.InAnswer, "answered by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			h := hear(t, func(tb testing.TB) { idemtest.Drop(tb, c.h, c.r, c.at) })
			if !strings.HasPrefix(h.fatal, "idemtest: drop: ") || !strings.Contains(h.fatal, c.want) {
				t.Errorf("fatal %q, want %q", h.fatal, c.want)
			}
		})
	}
}

// A client that is gone at any point pays once, and gets its answer when it is back.
func TestDroppedClientIsChargedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, handler := range b.modes() {
		for point, at := range map[string]idemtest.Point{
			"after the headers": idemtest.AfterHeaders, "half-way through the body": idemtest.HalfBody,
			"after the request": idemtest.AfterRequest, "after the charge": idemtest.InHandler, "in the answer": idemtest.InAnswer,
		} {
			t.Run(name+"/"+point, func(t *testing.T) {
				key := name + strings.ReplaceAll(point, " ", "-")
				h := handler(b.m, idemtest.HangUp)
				idemtest.Drop(t, h, newCharge(key), at)
				b.wantOneCharge(t, h, key)
			})
		}
	}
}

// wantOneCharge comes back with a key until there is an answer, and wants one charge and one answer whoever asks.
func (b *bundle) wantOneCharge(t *testing.T, h http.Handler, key string) {
	t.Helper()
	before, err := b.charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, newCharge(key))
		return w
	}
	first, second := ask(), ask()
	after, err := b.charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	replayed := first.Header().Get("Idempotent-Replayed") == "true"
	if first.Code != 201 || second.Code != 201 || first.Body.String() != second.Body.String() || second.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("answers %d %s and %d %s", first.Code, first.Body, second.Code, second.Body)
	}
	if charged := after - before; replayed && charged != 0 || !replayed && charged != 1 {
		t.Errorf("%d charges more, replayed %v", charged, replayed)
	}
}

// breaker hangs up before or after the nth statement of its pool that belongs to a request.
type breaker struct {
	at    atomic.Int64 // statement; 0: none
	after atomic.Bool
	seen  atomic.Int64
	hits  atomic.Int64
}

type statement struct{}

func (k *breaker) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return k.start(ctx)
}

func (k *breaker) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	k.end(ctx)
}

func (k *breaker) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return k.start(ctx)
}

func (k *breaker) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (k *breaker) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	k.end(ctx)
}

func (k *breaker) start(ctx context.Context) context.Context {
	n := k.seen.Add(1)
	if n == k.at.Load() && !k.after.Load() {
		k.hits.Add(1)
		idemtest.HangUp(ctx)
	}
	return context.WithValue(ctx, statement{}, n)
}

func (k *breaker) end(ctx context.Context) {
	if n, _ := ctx.Value(statement{}).(int64); n == k.at.Load() && k.after.Load() {
		k.hits.Add(1)
		idemtest.HangUp(ctx)
	}
}

// Before and after every statement, the claim's and the completion's included.
func TestClientLostAtAnyStatementIsChargedOnce(t *testing.T) {
	t.Parallel()
	k := new(breaker)
	b := setup(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = k })
	for name, handler := range b.modes() {
		for _, after := range []bool{false, true} {
			k.after.Store(after)
			for n := int64(1); ; n++ {
				key := fmt.Sprintf("%s-%d-%v", name, n, after)
				h := handler(b.m, nil)
				k.seen.Store(0)
				k.hits.Store(0)
				k.at.Store(n)
				heard := hear(t, func(tb testing.TB) { idemtest.Drop(tb, h, newCharge(key), idemtest.InHandler) })
				k.at.Store(0)
				if k.hits.Load() == 0 { // there is no nth statement
					if n < 3 {
						t.Errorf("%s: only %d statements", name, n-1)
					}
					break
				}
				if heard.fatal != "" {
					t.Fatalf("%s: %s", key, heard.fatal)
				}
				b.wantOneCharge(t, h, key)
			}
		}
	}
	charges, err := b.charges(t.Context())
	var keys int
	if err == nil {
		err = b.pool.QueryRow(t.Context(), "SELECT count(*) FROM idem.keys WHERE status = 'committed'").Scan(&keys)
	}
	if err != nil || charges != keys || keys < 12 {
		t.Errorf("%d charges for %d keys (%v)", charges, keys, err)
	}
}
