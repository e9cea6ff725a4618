package idemhttp_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// gzipped is body as a client sends it under Content-Encoding: gzip.
func gzipped(body io.Reader) string {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if _, err := io.Copy(w, body); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// bomb is so many zeros, compressed.
func bomb(size int64) sample {
	return sample{body: gzipped(io.LimitReader(zeros{}, size)), header: http.Header{"Content-Encoding": {"gzip"}}}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// decompressing stands outside the middleware and hands on what was sent under Content-Encoding: gzip as if it had been sent
// plain.
func decompressing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Encoding") == "gzip" {
			plain, err := gzip.NewReader(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Header.Del("Content-Encoding")
			r.Body, r.ContentLength = plain, -1
		}
		next.ServeHTTP(w, r)
	})
}

// C47: the bomb. Where nothing decompresses it is but bytes: see TestHandlerSeesTheUntouchedRequest.
func TestBodyThatIsTooLargeOnceDecompressedIsRefusedBeforeTheClaim(t *testing.T) {
	b := setup(t)
	s := bomb(256 * mebibyte)
	if len(s.body) > mebibyte {
		t.Fatalf("%d bytes: too large before it is decompressed", len(s.body))
	}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			server := b.serve(decompressing(mode.handle(b, b.m, created)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			a := b.send(s.over(server, "T", "k"))
			runtime.ReadMemStats(&after)
			b.wantProblem(a, 413, "body-too-large")
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 12*mebibyte {
				t.Errorf("%d MiB were allocated", spent/mebibyte)
			}
		})
	}
	b.idle()
}

func TestDecompressedBodyIsComparedAsIfSentPlain(t *testing.T) {
	b := setup(t)
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := b.in(t)
			server := b.serve(decompressing(mode.handle(b, b.m, created)))
			coded := sample{body: gzipped(strings.NewReader(`{"a":1,"b":2}`)), header: http.Header{"Content-Encoding": {"gzip"}}}
			first := b.send(coded.over(server, "T", mode.name))
			b.wantFirst(first, 201)
			b.wantReplay(b.send(jsonSample(`{"b":2,"a":1}`).over(server, "T", mode.name)), first)
			b.wantProblem(b.send(jsonSample(`{"b":2,"a":2}`).over(server, "T", mode.name)), 422, "key-reused")
		})
	}
}
