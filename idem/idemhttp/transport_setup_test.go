package idemhttp

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// transportSeen is what arrived of one try.
type transportSeen struct {
	after         time.Duration // since the test began
	keys          []string      // the header's lines
	body          string
	path          string
	contentLength int64
}

// transportStep answers one try.
type transportStep func(*http.Request) (*http.Response, error)

// transportScript is a Base that answers try by try. It writes down what it was sent.
type transportScript struct {
	t     *testing.T
	began time.Time
	mu    sync.Mutex
	steps []transportStep
	seen  []transportSeen
}

func newTransportScript(t *testing.T, steps ...transportStep) *transportScript {
	return &transportScript{t: t, began: time.Now(), steps: steps}
}

func (s *transportScript) RoundTrip(r *http.Request) (*http.Response, error) {
	seen := transportSeen{after: time.Since(s.began), keys: r.Header[HeaderKey], path: r.URL.Path, contentLength: r.ContentLength}
	if r.Body != nil {
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.note(seen)
			return nil, err
		}
		seen.body = string(body)
	}
	return s.note(seen)(r)
}

func (s *transportScript) note(seen transportSeen) transportStep {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen)
	if len(s.seen) > len(s.steps) {
		s.t.Errorf("try %d was not expected", len(s.seen))
		return transportAnswer(http.StatusTeapot)
	}
	return s.steps[len(s.seen)-1]
}

// wantTries checks how many tries arrived, all under one key and with one body, and returns the key.
func (s *transportScript) wantTries(n int, body string) string {
	s.t.Helper()
	return wantTransportTries(s.t, s.seen, n, body)
}

func wantTransportTries(t *testing.T, all []transportSeen, n int, body string) (key string) {
	t.Helper()
	if len(all) != n {
		t.Fatalf("%d tries arrived, want %d: %+v", len(all), n, all)
	}
	for i, seen := range all {
		switch {
		case len(seen.keys) != 1:
			t.Fatalf("try %d came with the key lines %q", i+1, seen.keys)
		case i > 0 && seen.keys[0] != key:
			t.Fatalf("try %d came under %q, the first under %q", i+1, seen.keys[0], key)
		case seen.body != body:
			t.Fatalf("try %d came with a body of %d bytes, %.40q", i+1, len(seen.body), seen.body)
		}
		key = seen.keys[0]
	}
	return key
}

// transportAnswer answers with a status and, in pairs, header lines.
func transportAnswer(status int, header ...string) transportStep {
	return transportAnswerBody(status, "", header...)
}

func transportAnswerBody(status int, body string, header ...string) transportStep {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Add(header[i], header[i+1])
		}
		return &http.Response{
			StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
		}, nil
	}
}

func transportFails(err error) transportStep {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// transportHangs answers when the try's context ends.
func transportHangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// transportNoLog keeps the handshakes that fail on purpose out of the test's output.
var transportNoLog = log.New(io.Discard, "", 0)

var errTransportLine = &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}

// transportRequest is a POST whose body comes with GetBody.
func transportRequest(ctx context.Context, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://api.test/charges", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	return r
}

// transportBody is a body without GetBody. It notes whether it was closed.
type transportBody struct {
	io.Reader
	mu     sync.Mutex
	closed int
}

func (b *transportBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed++
	return nil
}

func (b *transportBody) wantClosed(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed == 0 {
		t.Error("the request's body was not closed")
	}
}

// wantTransportStatus reads the answer to its end.
func wantTransportStatus(t *testing.T, resp *http.Response, err error, status int) string {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v, want %d", err, status)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != status {
		t.Fatalf("got %d (body: %v), want %d", resp.StatusCode, err, status)
	}
	return string(body)
}

// wantTransportError checks that err is a TransportError after so many tries.
func wantTransportError(t *testing.T, resp *http.Response, err error, tries int, target error) *TransportError {
	t.Helper()
	var failed *TransportError
	if resp != nil || !errors.As(err, &failed) {
		t.Fatalf("got %v and error %v, want a *TransportError", resp, err)
	}
	if failed.Tries != tries || target != nil && !errors.Is(err, target) {
		t.Fatalf("got %v after %d tries, want %v after %d", err, failed.Tries, target, tries)
	}
	return failed
}
