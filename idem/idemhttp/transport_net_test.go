package idemhttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// net/http sends a request again by itself, on a new connection, when the server turns out to have closed the idle one under it.
// It does so for requests that carry this header, and our own tries have no part in it.
func TestNetHTTPsOwnRetryComesUnderTheSameKey(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var seen []transportSeen
	var conns []int // which connection each request came on
	var served sync.WaitGroup
	served.Go(func() {
		for n := 1; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				body, _ := io.ReadAll(r.Body)
				seen = append(seen, transportSeen{keys: r.Header[HeaderKey], body: string(body)})
				conns = append(conns, n)
				if len(seen) == 2 {
					break // the second request on this connection is read, and gets no answer
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
			}
			conn.Close()
		}
	})
	client := &http.Client{Transport: &Transport{Base: &http.Transport{}, Tries: 1}}
	var bodies = []io.Reader{strings.NewReader("$49"), io.MultiReader(strings.NewReader("$49"))}
	for _, body := range bodies { // the second has no GetBody of its own
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listener.Addr().String(), body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		wantTransportStatus(t, resp, err, 201)
	}
	client.CloseIdleConnections()
	listener.Close()
	served.Wait()
	if len(conns) != 3 || conns[0] != 1 || conns[1] != 1 || conns[2] != 2 {
		t.Fatalf("the requests came on connections %v", conns)
	}
	if first := wantTransportTries(t, seen[:1], 1, "$49"); first == wantTransportTries(t, seen[1:], 2, "$49") {
		t.Error("two requests came under one key")
	}
}

func TestTransportUsesTheConnectionOfADiscardedAnswerAgain(t *testing.T) {
	busy := transportServe(503, strings.Repeat("x", 60<<10))
	chunked := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		for range 30 {
			_, _ = io.WriteString(w, strings.Repeat("x", 2<<10))
			_ = http.NewResponseController(w).Flush()
		}
	}
	running := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(409)
		_, _ = io.WriteString(w, transportProblem("in-flight"))
	}
	s := newTransportServer(t, busy, chunked, running, transportServe(201, ""))
	resp, err := s.post("$49")
	wantTransportStatus(t, resp, err, 201)
	s.wantTries(4, "$49")
	if s.opened != 1 {
		t.Errorf("%d connections were opened", s.opened)
	}
}

// An answer that never ends is not read to its end.
func TestTransportDoesNotReadAnEndlessAnswerThatItDiscards(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(503)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 4<<10)); err != nil {
				return
			}
		}
	}
	s := newTransportServer(t, endless, transportServe(201, ""))
	resp, err := s.post("$49")
	wantTransportStatus(t, resp, err, 201)
	if s.wantTries(2, "$49"); s.opened != 2 {
		t.Errorf("%d connections were opened", s.opened)
	}
}

// A problem document that is handed to the caller has been looked at, and is all there.
func TestTransportHandsOverAFinal409Whole(t *testing.T) {
	s := newTransportServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(409)
		_, _ = io.WriteString(w, transportProblem("outcome-unknown"))
	})
	resp, err := s.post("$49")
	if body := wantTransportStatus(t, resp, err, 409); body != transportProblem("outcome-unknown") {
		t.Errorf("the caller reads %q", body)
	}
	s.wantTries(1, "$49")
}

// net/http itself, over a pipe inside synctest.
func TestTransportReadsARealBodyUntilTryTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() {
			in := bufio.NewReader(theirs)
			if r, err := http.ReadRequest(in); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(theirs, "HTTP/1.1 201 Created\r\nContent-Length: 8\r\n\r\nhalf")
			_, _ = io.Copy(io.Discard, in) // until the client closes
		}()
		base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ours, nil }}
		resp, _, err := transportSend(t.Context(), &Transport{Base: base, TryTimeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		body, err := io.ReadAll(resp.Body)
		var timedOut *tryTimeoutError
		if took := time.Since(began); string(body) != "half" || !errors.As(err, &timedOut) || took != 10*time.Second {
			t.Errorf("read %q and after %v %v", body, took, err)
		}
		resp.Body.Close()
	})
}

// A body may set its trailer when it ends; the request that is sent shares the map.
func TestTransportSendsTrailers(t *testing.T) {
	var sum []string
	note := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			sum = append(sum, r.Trailer.Get("Sum"))
			w.WriteHeader(status)
		}
	}
	s := newTransportServer(t, note(503), note(201))
	resp, err := s.post("", func(r *http.Request) {
		r.Trailer = http.Header{"Sum": nil}
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader("$49"), transportAtEnd(func() { r.Trailer.Set("Sum", "49") })))
		r.GetBody, r.ContentLength = nil, -1
	})
	wantTransportStatus(t, resp, err, 201)
	if s.wantTries(2, "$49"); sum[0] != "49" || sum[1] != "49" {
		t.Errorf("the trailers came as %q", sum)
	}
}

type transportAtEnd func()

func (f transportAtEnd) Read([]byte) (int, error) { f(); return 0, io.EOF }

// http.Client's Timeout is a deadline for all tries together.
func TestTransportHeedsTheTimeoutOfItsClient(t *testing.T) {
	s := newTransportServer(t, transportServe(503, "busy"))
	s.client.Transport = &Transport{Base: s.base, MinBackoff: 1000 * time.Hour, MaxBackoff: 1000 * time.Hour}
	s.client.Timeout = 20 * time.Second
	began := time.Now()
	resp, err := s.post("$49")
	wantTransportStatus(t, resp, err, 503)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("waited %v", took)
	}
}

func TestTransportClosesIdleConnectionsOfItsBase(t *testing.T) {
	s := newTransportServer(t, transportServe(201, ""), transportServe(201, ""))
	for range 2 {
		reused := false
		trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { reused = got.Reused }}
		resp, err := s.post("$49", func(r *http.Request) { *r = *r.WithContext(httptrace.WithClientTrace(r.Context(), trace)) })
		wantTransportStatus(t, resp, err, 201)
		if reused {
			t.Error("a closed connection was used again")
		}
		s.client.CloseIdleConnections()
	}
	(&Transport{Base: transportFunc(nil)}).CloseIdleConnections() // has none
}
