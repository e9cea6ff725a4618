package idemhttp

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// transportServer is a real server that answers request by request, and a client with connections of its own.
type transportServer struct {
	*httptest.Server
	t      *testing.T
	base   *http.Transport
	client *http.Client
	mu     sync.Mutex
	opened int // connections
	seen   []transportSeen
}

// newTransportServer's handlers come in the order of the requests. Nothing is left behind when the test ends.
func newTransportServer(t *testing.T, handlers ...http.HandlerFunc) *transportServer {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	s := &transportServer{t: t, base: &http.Transport{}}
	s.client = &http.Client{Transport: &Transport{Base: s.base, MinBackoff: time.Millisecond}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			body = []byte(err.Error())
		}
		s.mu.Lock()
		s.seen = append(s.seen, transportSeen{keys: r.Header[HeaderKey], body: string(body), path: r.URL.Path, contentLength: r.ContentLength})
		n := len(s.seen)
		s.mu.Unlock()
		if n > len(handlers) {
			t.Errorf("request %d was not expected", n)
			w.WriteHeader(http.StatusTeapot)
			return
		}
		handlers[n-1](w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.opened++
			s.mu.Unlock()
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// post sends a request whose header the caller may write.
func (s *transportServer) post(body string, mutate ...func(*http.Request)) (*http.Response, error) {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+"/charges", bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range mutate {
		m(r)
	}
	return s.client.Do(r)
}

func (s *transportServer) wantTries(n int, body string) string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return wantTransportTries(s.t, s.seen, n, body)
}

// transportDrop closes the connection without an answer.
func transportDrop(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	conn.Close()
}

func transportServe(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
