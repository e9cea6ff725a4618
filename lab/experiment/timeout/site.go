package timeout

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// site is a server with so many workers, each of which has one request at a time; who finds none waits for one.
type site struct {
	url     string
	server  *http.Server
	next    http.Handler
	workers chan struct{} // has room for a token of each that is at work

	mu     sync.Mutex
	inside map[string]int // requests that have come and are not answered, by key
	atWork map[string]int // those of them that have a worker
}

// open serves next on a free port of 127.0.0.1.
func open(next http.Handler, workers int) (*site, error) {
	s := &site{next: next, workers: make(chan struct{}, workers), inside: map[string]int{}, atWork: map[string]int{}}
	s.server = &http.Server{Handler: s}
	var err error
	s.url, err = listen(s.server)
	return s, err
}

// listen serves on a free port of 127.0.0.1, until server is closed.
func listen(server *http.Server) (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

func (s *site) close() { _ = s.server.Close() }

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // to its end: only then net/http notices that a client has gone
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	key := r.Header.Get(idemhttp.HeaderKey)
	s.count(s.inside, key, 1)
	defer s.count(s.inside, key, -1)
	select {
	case s.workers <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	defer func() { <-s.workers }()
	s.count(s.atWork, key, 1)
	defer s.count(s.atWork, key, -1)
	s.next.ServeHTTP(w, r)
}

func (s *site) count(requests map[string]int, key string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests[key] += by
}

// of is how many requests of key are inside, and how many of those have a worker.
func (s *site) of(key string) (inside, atWork int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inside[key], s.atWork[key]
}
