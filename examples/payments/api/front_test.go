package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// front is a proxy before the API: the door that clients know stays where it is when the API's process changes.
type front struct {
	*httptest.Server
	arrived atomic.Int64 // requests so far

	mu     sync.Mutex
	opened chan struct{} // closed while there is an API
	api    *url.URL
}

func openFront(t *testing.T) *front {
	f := &front{opened: make(chan struct{})}
	proxy := &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(f.target(r.In.Context())) },
		ErrorLog: log.New(io.Discard, "", 0), // clients that hang up and APIs that are killed are the matter here
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.arrived.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// lead opens the door, which leads to an address.
func (f *front) lead(t *testing.T, address string) {
	t.Helper()
	api, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.api = api
	close(f.opened)
}

// shut lets whoever comes wait until the door leads somewhere again.
func (f *front) shut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = make(chan struct{})
}

// target waits until the door is open, or its visitor has left.
func (f *front) target(visitor context.Context) *url.URL {
	f.mu.Lock()
	opened := f.opened
	f.mu.Unlock()
	select {
	case <-opened:
	case <-visitor.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.api
}
