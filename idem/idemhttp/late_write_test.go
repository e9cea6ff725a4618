package idemhttp_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
	"github.com/pgidem/pgidem/internal/pgstub"
)

// withStub is h under a middleware in each mode, in front of a stub to which every key is new.
func withStub(t *testing.T, h http.HandlerFunc, test func(t *testing.T, h http.Handler, store *idem.Store)) {
	for _, mode := range []string{"lease", "atomic"} {
		t.Run(mode, func(t *testing.T) {
			store := &idem.Store{Pool: (&pgstub.Stub{}).Pool(t), NoCoalescing: true} // the stub knows no statement for several
			t.Cleanup(store.Close)
			m := &idemhttp.Middleware{Store: store, Tenant: idemhttp.SingleTenant, Logger: slog.New(slog.DiscardHandler)}
			under := m.Handler(h)
			if mode == "atomic" {
				under = m.HandlerTx(func(w http.ResponseWriter, r *http.Request, _ pgx.Tx) error {
					h(w, r)
					return nil
				})
			}
			test(t, under, store)
		})
	}
}

// sentTo is h's answer in memory.
func sentTo(h http.Handler, key string) *httptest.ResponseRecorder {
	r := newRequest("/charges", key, "{}")
	r.Pattern = "/charges"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// What was recorded is what is sent: nothing comes in between.
func TestWritesAfterTheHandlerHasReturnedGoNowhere(t *testing.T) {
	var left http.ResponseWriter
	withStub(t, func(w http.ResponseWriter, _ *http.Request) {
		left = w
		_, _ = w.Write([]byte("in time"))
	}, func(t *testing.T, h http.Handler, store *idem.Store) {
		refused := func() {
			t.Helper()
			if n, err := left.Write([]byte(", late")); n != 0 || err == nil {
				t.Errorf("%d bytes were taken (%v)", n, err)
			}
			if err := http.NewResponseController(left).Flush(); err == nil {
				t.Error("a flush was taken")
			}
		}
		store.Observe = func(context.Context, idem.Event) { refused() } // recorded, not sent yet
		if got := sentTo(h, "k-1").Body.String(); got != "in time" {
			t.Errorf("the answer was %q", got)
		}
		refused()
	})
}

// Memory is used again, and a handler that leaves somebody writing must not write into the answer of another.
func TestNoAnswerHasBytesOfAnother(t *testing.T) {
	var running sync.WaitGroup
	withStub(t, func(w http.ResponseWriter, r *http.Request) {
		piece := bytes.Repeat([]byte(r.Header.Get("Idempotency-Key")), 32<<10)
		_, _ = w.Write(piece)
		running.Go(func() {
			for range 8 {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		})
	}, func(t *testing.T, h http.Handler, store *idem.Store) {
		store.NoCoalescing = true // the stub knows statements for one caller
		var callers sync.WaitGroup
		for _, key := range "abcdefgh" {
			callers.Go(func() {
				for range 20 {
					got := sentTo(h, string(key)).Body.Bytes()
					if len(got) < 32<<10 || bytes.Count(got, []byte(string(key))) != len(got) {
						t.Errorf("an answer of %d bytes to %q has others in it", len(got), key)
					}
				}
			})
		}
		callers.Wait()
		running.Wait()
	})
}
