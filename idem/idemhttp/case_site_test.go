package idemhttp_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"
)

// site is a server that tells what becomes of its requests, also of those whose clients hang up.
type site struct {
	*httptest.Server
	inside atomic.Int32 // requests that are being handled
	next   atomic.Pointer[visit]
}

// visit is one request as the server sees it.
type visit struct {
	arrived chan context.Context // the request's own, which ends when the server notices that the client has gone
	ended   chan struct{}        // closed when the request has been handled, by an answer or a panic
}

// open serves h at every route given and at /charges, until the test ends. Panics of h are not logged.
func (s *shop) open(h http.Handler, patterns ...string) *site {
	s.Helper()
	mux := http.NewServeMux()
	for _, pattern := range append(patterns, "/charges") {
		mux.Handle(pattern, h)
	}
	o := new(site)
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.inside.Add(1)
		defer o.inside.Add(-1)
		if v := o.next.Swap(nil); v != nil {
			defer close(v.ended)
			v.arrived <- r.Context()
		}
		mux.ServeHTTP(w, r)
	}))
	o.Config.ErrorLog = log.New(io.Discard, "", 0)
	o.Start()
	s.Cleanup(func() {
		s.openGates()
		o.Close()
	})
	return o
}

// expect returns the next request to arrive.
func (o *site) expect() *visit {
	v := &visit{arrived: make(chan context.Context, 1), ended: make(chan struct{})}
	o.next.Store(v)
	return v
}

// charges is the route of most tests.
func (o *site) charges() string { return o.URL + "/charges" }

// line is a client's connection that can be cut at any moment.
type line struct{ *net.TCPConn }

// dial connects to the site until the test ends.
func (s *shop) dial(o *site) line {
	s.Helper()
	conn, err := net.Dial("tcp", o.Listener.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return line{conn.(*net.TCPConn)}
}

// say sends text as it is.
func (s *shop) say(l line, text ...string) {
	s.Helper()
	if _, err := io.WriteString(l, strings.Join(text, "")); err != nil {
		s.Fatal(err)
	}
}

// cut ends the connection without a farewell.
func (l line) cut() {
	_ = l.SetLinger(0)
	_ = l.Close()
}

func newGet(url string) *http.Request {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	return r
}
