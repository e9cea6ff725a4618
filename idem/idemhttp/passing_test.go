package idemhttp_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"
)

func TestHijackIsRefused(t *testing.T) {
	b := setup(t)
	b.inBothModes(func(b *bundle, mode mode) {
		server := b.serve(mode.handle(b, b.m, func(w http.ResponseWriter, _ *http.Request, _ func()) {
			_, _, err := http.NewResponseController(w).Hijack()
			_, _, direct := w.(http.Hijacker).Hijack()
			if !errors.Is(err, http.ErrNotSupported) || !errors.Is(direct, http.ErrNotSupported) {
				b.Errorf("Hijack: %v, %v", err, direct)
			}
			w.WriteHeader(201)
		}))
		first := b.post(server, b.Name(), "{}")
		b.wantFirst(first, 201)
		b.wantReplay(b.post(server, b.Name(), "{}"), first)
	})
}

// What the recorder does not do itself a ResponseController finds through Unwrap.
func TestDeadlinesAreSetThroughUnwrap(t *testing.T) {
	b := setup(t)
	b.inBothModes(func(b *bundle, mode mode) {
		server := b.serve(mode.handle(b, b.m, func(w http.ResponseWriter, _ *http.Request, _ func()) {
			c := http.NewResponseController(w)
			if err := errors.Join(c.SetReadDeadline(time.Now().Add(time.Minute)), c.EnableFullDuplex()); err != nil {
				b.Error(err)
			}
			if err := c.SetWriteDeadline(time.Now().Add(-time.Minute)); err != nil {
				b.Error(err)
			}
			w.WriteHeader(201)
		}))
		if first := b.look(newRequest(server.URL+"/charges", b.Name(), "{}")); !first.Cut {
			b.Errorf("written after its deadline: %+v", first)
		}
	})
}

// HEAD and the other safe methods go to the handler as they are.
func TestSafeMethodsPassThroughUntouched(t *testing.T) {
	b := setup(t)
	h := func(w http.ResponseWriter, r *http.Request, _ func()) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Saw", r.Method+" "+r.Header.Get("Accept-Encoding")+" "+string(body))
		w.Header().Set("Content-Length", "10")
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, "0123456789")
		}
	}
	b.inBothModes(func(b *bundle, mode mode) {
		alone, _ := b.serveLogged(bare(h))
		under, _ := b.serveLogged(mode.handle(b, b.m, h))
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE"} {
			ask := func(url string) seen {
				r, err := http.NewRequest(method, url+"/charges", bytes.NewReader([]byte("asked")))
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("Idempotency-Key", b.Name()+method)
				r.Header.Set("Accept-Encoding", "gzip")
				return b.look(r)
			}
			want, got := ask(alone.URL), ask(under.URL)
			if got.Cut || got.Status != 200 || got.Header.Get("X-Saw") != want.Header.Get("X-Saw") || got.Header.Get("Content-Length") != "10" {
				b.Errorf("%s: alone %+v, under %+v", method, want, got)
			}
		}
	})
	b.wantNoKeys()
}

// wantNoKeys fails if a key is stored.
func (b *bundle) wantNoKeys() {
	b.Helper()
	var n int
	if err := b.pool.QueryRow(b.Context(), "SELECT count(*) FROM idem.keys").Scan(&n); err != nil || n != 0 {
		b.Errorf("%d keys are stored (%v), want none", n, err)
	}
}

// A handler that answers HEAD declares the length of a body that it does not write.
func TestHEADMayDeclareALengthInAtomicMode(t *testing.T) {
	b := setup(t)
	url := b.quiet(atomicMode.handle(b, b.m, func(w http.ResponseWriter, _ *http.Request, charge func()) {
		charge()
		w.Header().Set("Content-Length", "9")
	}))
	r := newRequest(url, "", "")
	r.Method, r.Body = http.MethodHead, nil
	if got := b.look(r); got.Status != 200 || got.Header.Get("Content-Length") != "9" || b.charges() != 1 {
		t.Errorf("%+v, %d charges", got, b.charges())
	}
}
