package idemhttp

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/internal/pgstub"
)

// written is how a handler writes its answer.
type written struct {
	body     []byte
	piece    int  // bytes at a time
	declared bool // with a Content-Length
	cache    int  // the Store's CacheBytes
}

func (a written) to(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if a.declared {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(http.StatusCreated)
	for rest := a.body; len(rest) > 0; {
		n := min(a.piece, len(rest))
		_, _ = w.Write(rest[:n])
		rest = rest[n:]
	}
}

// bare is the handler alone.
func (a written) bare() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { a.to(w) })
}

// under is the handler under a middleware in a mode, in front of a stub.
func (a written) under(tb testing.TB, mode string, stub *pgstub.Stub) http.Handler {
	store := &idem.Store{Pool: stub.Pool(tb), CacheBytes: a.cache}
	tb.Cleanup(store.Close)
	m := &Middleware{Store: store, Tenant: SingleTenant, Logger: slog.New(slog.DiscardHandler)}
	if mode == "atomic" {
		return m.HandlerTx(func(w http.ResponseWriter, _ *http.Request, _ pgx.Tx) error {
			a.to(w)
			return nil
		})
	}
	return m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lease, ok := LeaseFrom(r.Context()); ok {
			_ = lease.DownstreamKey("charge")
		}
		a.to(w)
	}))
}

// caller sends one request over and over, allocating next to nothing: no sockets, and a writer that forgets.
type caller struct {
	request *http.Request
	body    *bytes.Reader
	w       memoryWriter
}

func newCaller() *caller {
	c := &caller{body: bytes.NewReader(orderOf(200)), w: memoryWriter{header: make(http.Header)}}
	c.request, _ = http.NewRequest(http.MethodPost, "/charges", nil)
	c.request.Pattern = "POST /charges"
	c.request.ContentLength = c.body.Size()
	c.request.Header.Set("Content-Type", "application/json")
	c.request.Header.Set("Idempotency-Key", "5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01")
	return c
}

// call returns how many bytes of body h answered.
func (c *caller) call(h http.Handler) int {
	_, _ = c.body.Seek(0, io.SeekStart)
	c.request.Body = io.NopCloser(c.body)
	clear(c.w.header)
	c.w.bytes = 0
	h.ServeHTTP(&c.w, c.request)
	return c.w.bytes
}

// memoryWriter is a ResponseWriter that counts.
type memoryWriter struct {
	header http.Header
	bytes  int
}

func (w *memoryWriter) Header() http.Header { return w.header }
func (w *memoryWriter) WriteHeader(int)     {}
func (w *memoryWriter) Write(b []byte) (int, error) {
	w.bytes += len(b)
	return len(b), nil
}
