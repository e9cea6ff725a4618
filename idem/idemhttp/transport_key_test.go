package idemhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestTransportRefusesTwoKeysAndAnEmptyOne(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		want   error
	}{
		{http.Header{"Idempotency-Key": {"a", "b"}}, errTwoKeys},
		{http.Header{"Idempotency-Key": {"a"}, "idempotency-key": {"b"}}, errTwoKeys},
		{http.Header{"Idempotency-Key": {""}}, errEmptyKey},
		{http.Header{"idempotency-key": {" \t"}}, errEmptyKey},
		{http.Header{"Idempotency-Key": {"a", ""}}, errEmptyKey},
	} {
		body := &transportBody{Reader: strings.NewReader("$49")}
		r := transportRequest(t.Context(), "")
		r.Header, r.Body, r.GetBody = c.header, body, nil
		resp, err := (&Transport{Base: newTransportScript(t)}).RoundTrip(r)
		if failed := wantTransportError(t, resp, err, 0, c.want); failed.Key != "" {
			t.Errorf("%v: the error tells key %q", c.header, failed.Key)
		}
		body.wantClosed(t)
	}
}

// What says nothing sets nothing.
func TestTransportMintsForAHeaderWithoutLines(t *testing.T) {
	for _, header := range []http.Header{nil, {}, {"Idempotency-Key": nil}, {"idempotency-key": {}}} {
		script := newTransportScript(t, transportAnswer(201))
		r := transportRequest(t.Context(), "$49")
		r.Header = header
		resp, err := (&Transport{Base: script}).RoundTrip(r)
		wantTransportStatus(t, resp, err, 201)
		if _, ok := keyBirth(script.wantTries(1, "$49")); !ok {
			t.Errorf("%v: sent was %q", header, script.seen[0].keys)
		}
	}
}

func TestTransportTellsTheKeyOfAFailure(t *testing.T) {
	s := newTransportServer(t, transportDrop, transportDrop)
	s.client.Transport = &Transport{Base: s.base, Tries: 2, MinBackoff: 1}
	_, err := s.post("$49")
	var wrapped *url.Error
	if !errors.As(err, &wrapped) {
		t.Fatalf("http.Client returned %T", err)
	}
	failed := wantTransportError(t, nil, err, 2, io.EOF)
	if sent := s.wantTries(2, "$49"); failed.Key != sent {
		t.Errorf("the error tells %q, sent was %q", failed.Key, sent)
	}
	if strings.Contains(err.Error(), failed.Key) || !strings.Contains(err.Error(), "no answer after 2 tries") || wrapped.Timeout() {
		t.Errorf("the error reads %q", err)
	}
}

// url.Error looks for Timeout in what it wraps, and no further.
func TestTransportErrorIsATimeoutWhereItsCauseIsOne(t *testing.T) {
	for _, c := range []struct {
		cause error
		want  bool
	}{{context.DeadlineExceeded, true}, {&tryTimeoutError{time.Second}, true}, {context.Canceled, false}, {errTransportLine, false}, {ErrKeyTooOld, false}} {
		err := &url.Error{Op: "Post", URL: "http://api.test", Err: &TransportError{Tries: 1, Err: c.cause}}
		if err.Timeout() != c.want || !errors.Is(err, c.cause) {
			t.Errorf("%v: Timeout() is %v", err, err.Timeout())
		}
	}
	if text := (&TransportError{Err: errTwoKeys}).Error(); !strings.Contains(text, "nothing was sent") {
		t.Errorf("the error reads %q", text)
	}
}

func TestTransportCarriesTheKeyUnderAnotherHeader(t *testing.T) {
	for _, own := range []string{"", transportK1} {
		var sent http.Header
		tr := &Transport{Header: "paypal-request-id", Base: newTransportScript(t, func(r *http.Request) (*http.Response, error) {
			sent = r.Header
			return transportAnswer(201)(r)
		})}
		r := transportRequest(t.Context(), "$49")
		r.Header["PAYPAL-REQUEST-ID"] = []string{own}
		if own == "" {
			delete(r.Header, "PAYPAL-REQUEST-ID")
		}
		resp, err := tr.RoundTrip(r)
		wantTransportStatus(t, resp, err, 201)
		if key := sent["Paypal-Request-Id"]; len(sent) != 1 || len(key) != 1 || own != "" && key[0] != own {
			t.Errorf("sent was %v", sent)
		}
	}
}

// transportUntouched fails once, with the request that it was given in its hand.
type transportUntouched struct{ got *http.Request }

func (b *transportUntouched) RoundTrip(r *http.Request) (*http.Response, error) {
	b.got = r
	return transportAnswer(503)(r)
}

func TestTransportPassesSafeMethodsStraight(t *testing.T) {
	for _, method := range []string{"", "GET", "HEAD", "OPTIONS", "TRACE"} {
		base := &transportUntouched{}
		r := &http.Request{Method: method, URL: &url.URL{Scheme: "http", Host: "api.test"}, Header: http.Header{}}
		resp, err := (&Transport{Base: base, TryTimeout: time.Second}).RoundTrip(r)
		wantTransportStatus(t, resp, err, 503)
		if base.got != r || len(r.Header) != 0 {
			t.Errorf("%s: Base was given another request, with %v", method, base.got.Header)
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "PURGE"} {
		script := newTransportScript(t, transportAnswer(503), transportAnswer(201))
		r := transportRequest(t.Context(), "$49")
		r.Method = method
		resp, err := (&Transport{Base: script, MinBackoff: 1}).RoundTrip(r)
		wantTransportStatus(t, resp, err, 201)
		script.wantTries(2, "$49")
	}
}

func TestTransportRefusesNegativeNumbers(t *testing.T) {
	for _, tr := range []Transport{{Tries: -1}, {MinBackoff: -1}, {MaxBackoff: -1}, {MaxRetryAfter: -1}, {TryTimeout: -1}, {MaxAge: -1}} {
		tr.Base = newTransportScript(t)
		body := &transportBody{Reader: strings.NewReader("$49")}
		r := transportRequest(t.Context(), "")
		r.Body, r.GetBody = body, nil
		resp, err := tr.RoundTrip(r)
		wantTransportError(t, resp, err, 0, nil)
		body.wantClosed(t)
	}
}
