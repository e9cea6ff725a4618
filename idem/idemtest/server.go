package idemtest

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// server serves a handler on loopback, so that connections, bodies and contexts behave as in production.
type server struct {
	http.Server
	address string
	running atomic.Int64 // handlers
}

// serve starts a server; stop ends it. The functions may set up what net/http is to know before.
func serve(h http.Handler, setup ...func(*http.Server)) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{address: listener.Addr().String()}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.running.Add(1)
		defer s.running.Add(-1)
		h.ServeHTTP(w, r)
	})
	for _, f := range setup {
		f(&s.Server)
	}
	go s.Serve(listener)
	return s, nil
}

// idle waits until no handler runs: one that has answered may still be at work.
func (s *server) idle(ctx context.Context) {
	for s.running.Load() > 0 && ctx.Err() == nil {
		time.Sleep(100 * time.Microsecond)
	}
}

// stop waits for the handlers that run, for so long, and closes the server.
func (s *server) stop(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_ = s.Shutdown(ctx) // what still runs then is left to itself
	_ = s.Close()
}
