package idemhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestTransportTryTimeoutEndsOneTryAndNotTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := newTransportScript(t, transportHangs, transportHangs, transportAnswer(201))
		resp, took, err := transportSend(t.Context(), &Transport{Base: script, TryTimeout: 10 * time.Second, MinBackoff: 1, MaxBackoff: 1})
		wantTransportStatus(t, resp, err, 201)
		script.wantTries(3, "$49")
		if took != 20*time.Second {
			t.Errorf("took %v", took)
		}
		resp, _, err = transportSend(t.Context(), &Transport{Base: newTransportScript(t, transportHangs), TryTimeout: time.Second, Tries: 1})
		if failed := wantTransportError(t, resp, err, 1, nil); !failed.Timeout() || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the last try's time-out is %v", err)
		}
		// The caller's own time comes first.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		resp, took, err = transportSend(ctx, &Transport{Base: newTransportScript(t, transportHangs), TryTimeout: 10 * time.Second})
		wantTransportError(t, resp, err, 1, context.DeadlineExceeded)
		if took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// transportSlowBody yields a byte a second, as long as its request's context lasts.
type transportSlowBody struct {
	ctx  context.Context
	left int
}

func (b *transportSlowBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(time.Second):
		b.left--
		p[0] = 'x'
		return 1, nil
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (b *transportSlowBody) Close() error { return nil }

func transportSlow(ctx *context.Context, left int) transportStep {
	return func(r *http.Request) (*http.Response, error) {
		*ctx = r.Context()
		return &http.Response{StatusCode: 201, Header: http.Header{}, Body: &transportSlowBody{r.Context(), left}, ContentLength: -1}, nil
	}
}

func TestTransportTryTimeoutHoldsForTheBodyOfTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var try context.Context
		send := func(left int) *http.Response {
			t.Helper()
			resp, took, err := transportSend(t.Context(), &Transport{Base: newTransportScript(t, transportSlow(&try, left)), TryTimeout: 5500 * time.Millisecond})
			if err != nil || took != 0 || try.Err() != nil {
				t.Fatalf("RoundTrip returned %v after %v, and the try had %v", err, took, try.Err())
			}
			return resp
		}
		resp := send(5)
		if body := wantTransportStatus(t, resp, nil, 201); body != "xxxxx" {
			t.Errorf("read %q within the time", body)
		}
		resp = send(5)
		if _, err := io.ReadAll(resp.Body); err != nil || try.Err() == nil {
			t.Errorf("after the end of the body (%v) the try's context has %v", err, try.Err())
		}
		resp = send(5)
		resp.Body.Close()
		if try.Err() == nil {
			t.Error("after Close the try's context has not ended")
		}
		resp = send(6)
		body, err := io.ReadAll(resp.Body)
		var timedOut *tryTimeoutError
		if string(body) != "xxxxx" || !errors.As(err, &timedOut) {
			t.Errorf("read %q and then %v", body, err)
		}
	})
}

// Without TryTimeout the body lives as long as the caller's context.
func TestTransportWithoutTryTimeoutLeavesTheContextAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var try context.Context
		resp, _, err := transportSend(t.Context(), &Transport{Base: newTransportScript(t, transportSlow(&try, 3600))})
		if body := wantTransportStatus(t, resp, err, 201); len(body) != 3600 || try.Err() != nil {
			t.Errorf("read %d bytes; the context has %v", len(body), try.Err())
		}
	})
}

func TestTransportSurvivesABaseThatBreaksItsContract(t *testing.T) {
	nothing := func(*http.Request) (*http.Response, error) { return nil, nil }
	resp, err := (&Transport{Base: newTransportScript(t, nothing, nothing), Tries: 2, MinBackoff: 1}).RoundTrip(transportRequest(t.Context(), "$49"))
	wantTransportError(t, resp, err, 2, nil)
	bodyless := func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503}, nil }
	resp, err = (&Transport{Base: newTransportScript(t, bodyless, bodyless), Tries: 2, MinBackoff: 1, TryTimeout: time.Minute}).RoundTrip(transportRequest(t.Context(), "$49"))
	wantTransportStatus(t, resp, err, 503)
	// One that writes into the request that it is given leaves no trace on the next try.
	scribble := func(status int) transportStep {
		return func(r *http.Request) (*http.Response, error) {
			if len(r.Header["Traceparent"]) > 0 {
				t.Error("the last try's header came with this one")
			}
			r.Header.Add("Traceparent", "00-1")
			return transportAnswer(status)(r)
		}
	}
	resp, err = (&Transport{Base: newTransportScript(t, scribble(503), scribble(201)), MinBackoff: 1}).RoundTrip(transportRequest(t.Context(), "$49"))
	wantTransportStatus(t, resp, err, 201)
}
