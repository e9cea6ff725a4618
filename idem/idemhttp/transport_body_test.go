package idemhttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// transportFrom is a request whose body comes without GetBody.
func transportFrom(t *testing.T, body io.Reader, length int64) (*http.Request, *transportBody) {
	r := transportRequest(t.Context(), "")
	b := &transportBody{Reader: body}
	r.Body, r.GetBody, r.ContentLength = b, nil, length
	return r, b
}

func TestTransportSendsEqualBytesFromMemory(t *testing.T) {
	whole := strings.Repeat("0123456789abcdef", replayLimit/16)
	for _, c := range []struct {
		body   string
		length int64 // as the caller says it
	}{{"$49", 3}, {"$49", -1}, {"$49", 0}, {"", 0}, {"", -1}, {whole, -1}, {whole, replayLimit}} {
		script := newTransportScript(t, transportFails(errTransportLine), transportAnswer(503), transportAnswer(201))
		r, body := transportFrom(t, iotest.HalfReader(strings.NewReader(c.body)), c.length)
		resp, err := (&Transport{Base: script, MinBackoff: 1}).RoundTrip(r)
		wantTransportStatus(t, resp, err, 201)
		script.wantTries(3, c.body)
		body.wantClosed(t)
		for _, seen := range script.seen {
			if seen.contentLength != c.length {
				t.Errorf("ContentLength %d became %d", c.length, seen.contentLength)
			}
		}
	}
}

func TestTransportSendsABodyOverOneMiBOnce(t *testing.T) {
	long := strings.Repeat("x", replayLimit) + "and more"
	for _, length := range []int64{-1, 0, int64(len(long))} {
		script := newTransportScript(t, transportAnswer(503))
		r, body := transportFrom(t, strings.NewReader(long), length)
		resp, err := (&Transport{Base: script}).RoundTrip(r)
		wantTransportStatus(t, resp, err, 503)
		script.wantTries(1, long)
		if got := script.seen[0].contentLength; got != length {
			t.Errorf("ContentLength %d became %d", length, got)
		}
		body.wantClosed(t)
		script = newTransportScript(t, transportFails(errTransportLine))
		r, _ = transportFrom(t, strings.NewReader(long), length)
		resp, err = (&Transport{Base: script}).RoundTrip(r)
		wantTransportError(t, resp, err, 1, errTransportLine)
	}
	script := newTransportScript(t, transportAnswer(503))
	r, _ := transportFrom(t, strings.NewReader(long[:replayLimit+1]), -1)
	resp, err := (&Transport{Base: script}).RoundTrip(r)
	wantTransportStatus(t, resp, err, 503)
	script.wantTries(1, long[:replayLimit+1])
	// With GetBody there is no limit.
	script = newTransportScript(t, transportAnswer(503), transportAnswer(201))
	resp, err = (&Transport{Base: script, MinBackoff: 1}).RoundTrip(transportRequest(t.Context(), long))
	wantTransportStatus(t, resp, err, 201)
	script.wantTries(2, long)
}

// A long body streams: what Base reads first arrives before the rest is there.
func TestTransportStreamsALongBody(t *testing.T) {
	read, write := io.Pipe()
	first := strings.Repeat("x", replayLimit+1)
	got := make(chan struct{})
	go func() {
		_, _ = io.WriteString(write, first)
		<-got
		_, _ = io.WriteString(write, "rest")
		write.Close()
	}()
	r, _ := transportFrom(t, read, -1)
	resp, err := (&Transport{Base: transportFunc(func(r *http.Request) (*http.Response, error) {
		if _, err := io.ReadFull(r.Body, make([]byte, len(first))); err != nil {
			return nil, err
		}
		close(got)
		rest, err := io.ReadAll(r.Body)
		if string(rest) != "rest" {
			t.Errorf("after the first part came %q (%v)", rest, err)
		}
		return transportAnswer(201)(r)
	})}).RoundTrip(r)
	wantTransportStatus(t, resp, err, 201)
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportDoesNotRetryAReaderThatFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	half := func() io.Reader { return io.MultiReader(strings.NewReader("$4"), iotest.ErrReader(broken)) }
	always := func(*http.Response, error) bool { return true }

	// Read into memory: nothing is sent.
	r, body := transportFrom(t, half(), 3)
	resp, err := (&Transport{Base: newTransportScript(t), Retry: always}).RoundTrip(r)
	wantTransportError(t, resp, err, 0, broken)
	body.wantClosed(t)

	// With GetBody: the try fails, and there is no other.
	r, body = transportFrom(t, half(), 3)
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(half()), nil }
	resp, err = (&Transport{Base: newTransportScript(t, nil), Retry: always}).RoundTrip(r)
	wantTransportError(t, resp, err, 1, broken)
	body.wantClosed(t)

	// GetBody itself fails.
	r, _ = transportFrom(t, strings.NewReader("$49"), 3)
	r.GetBody = func() (io.ReadCloser, error) { return nil, broken }
	resp, err = (&Transport{Base: newTransportScript(t, transportAnswer(503)), MinBackoff: 1, Retry: always}).RoundTrip(r)
	wantTransportError(t, resp, err, 1, broken)
}

// Base may close a body that it is reading, and the reader then fails: that is a lost connection like any other.
func TestTransportRetriesWhereBaseGaveUpTheBody(t *testing.T) {
	opened := 0
	open := func() (io.ReadCloser, error) {
		opened++
		read, write := io.Pipe()
		if opened > 1 {
			go func() { _, _ = io.WriteString(write, "$49"); write.Close() }()
		}
		return read, nil
	}
	var seen []transportSeen
	base := transportFunc(func(r *http.Request) (*http.Response, error) {
		seen = append(seen, transportSeen{keys: r.Header[HeaderKey], body: "$49"})
		if len(seen) == 1 {
			r.Body.Close()
			_, err := r.Body.Read(make([]byte, 1))
			return nil, err
		}
		body, err := io.ReadAll(r.Body)
		if string(body) != "$49" || err != nil {
			t.Errorf("sent was %q (%v)", body, err)
		}
		return transportAnswer(201)(r)
	})
	r := transportRequest(t.Context(), "")
	r.Body, _ = open()
	r.GetBody, r.ContentLength = open, 3
	resp, err := (&Transport{Base: base, MinBackoff: 1}).RoundTrip(r)
	wantTransportStatus(t, resp, err, 201)
	wantTransportTries(t, seen, 2, "$49")
}

func TestTransportRefusesABodyOfAnotherLengthThanPromised(t *testing.T) {
	for _, length := range []int64{1, 99} {
		r, body := transportFrom(t, strings.NewReader("$49"), length)
		resp, err := (&Transport{Base: newTransportScript(t)}).RoundTrip(r)
		wantTransportError(t, resp, err, 0, errBodyLength)
		body.wantClosed(t)
		// With GetBody it is not read beforehand. net/http finds out and says so, or says that the connection is closed, or has
		// an answer to the bytes that were promised. There is no second try, which the server would report.
		s := newTransportServer(t, transportServe(503, ""))
		resp, err = s.post("$49", func(r *http.Request) { r.ContentLength = length })
		if err != nil {
			wantTransportError(t, resp, err, 1, errBodyLength)
		} else {
			wantTransportStatus(t, resp, err, 503)
		}
	}
}

// transportStuck blocks in Read until it is closed, as a connection does.
type transportStuck struct{ closed chan struct{} }

func (b *transportStuck) Read([]byte) (int, error) { <-b.closed; return 0, io.ErrClosedPipe }
func (b *transportStuck) Close() error             { close(b.closed); return nil }

func TestTransportStopsReadingTheBodyWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("the user has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(reason) })
		r := transportRequest(ctx, "")
		r.Body, r.GetBody, r.ContentLength = &transportStuck{make(chan struct{})}, nil, -1
		began := time.Now()
		resp, err := (&Transport{Base: newTransportScript(t)}).RoundTrip(r)
		wantTransportError(t, resp, err, 0, reason)
		if took := time.Since(began); took != time.Second {
			t.Errorf("returned after %v", took)
		}
	})
}

// net/http repeats a request by itself only where it can have the body again.
func TestTransportGivesEveryTryAGetBody(t *testing.T) {
	inMemory, _ := transportFrom(t, strings.NewReader("$49"), 3)
	for _, r := range []*http.Request{transportRequest(t.Context(), "$49"), inMemory} {
		base := transportFunc(func(r *http.Request) (*http.Response, error) {
			for range 2 {
				body, err := r.GetBody()
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(body); !bytes.Equal(got, []byte("$49")) || err != nil {
					t.Errorf("GetBody yields %q (%v)", got, err)
				}
			}
			return transportAnswer(201)(r)
		})
		resp, err := (&Transport{Base: base}).RoundTrip(r)
		wantTransportStatus(t, resp, err, 201)
	}
}
