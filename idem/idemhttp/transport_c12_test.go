package idemhttp

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const transportK1 = "5f0c1c0e-8d7e-4f6b-9a0f-2f3d1f6a7b01"

// transportC12 drops connection 1, answers 503 on 2 and 201 on 3.
func transportC12(t *testing.T) *transportServer {
	return newTransportServer(t, transportDrop, transportServe(503, "busy"), transportServe(201, "ch_1"))
}

func TestC12CallersKeyComesWithEveryTry(t *testing.T) {
	s := transportC12(t)
	resp, err := s.post("$49", func(r *http.Request) { r.Header.Set(HeaderKey, transportK1) })
	if body := wantTransportStatus(t, resp, err, 201); body != "ch_1" {
		t.Errorf("got body %q", body)
	}
	if key := s.wantTries(3, "$49"); key != transportK1 {
		t.Errorf("the caller's key was replaced by %q", key)
	}
}

func TestC12MintedKeyComesWithEveryTryAndIsShown(t *testing.T) {
	s := transportC12(t)
	resp, err := s.post("$49")
	wantTransportStatus(t, resp, err, 201)
	key := s.wantTries(3, "$49")
	if _, ok := keyBirth(key); !ok {
		t.Errorf("%q is no UUIDv7", key)
	}
	if shown := resp.Request.Header.Get(HeaderKey); shown != key {
		t.Errorf("the caller is shown %q, sent was %q", shown, key)
	}
}

func TestC12RawHeaderNameIsSentAsOneCanonicalLine(t *testing.T) {
	for _, raw := range []http.Header{
		{"idempotency-key": {transportK1}},
		{"IDEMPOTENCY-KEY": {transportK1}, "Idempotency-Key": {transportK1}},
		{"Idempotency-Key": {transportK1, transportK1}},
		{"idempotency-key": {" " + transportK1 + "\t"}},
	} {
		s := transportC12(t)
		resp, err := s.post("$49", func(r *http.Request) { r.Header = raw })
		wantTransportStatus(t, resp, err, 201)
		if key := s.wantTries(3, "$49"); key != transportK1 {
			t.Errorf("%v: sent was %q", raw, key)
		}
	}
	// A server reads every spelling as one. What was written is seen before it is sent.
	var wire strings.Builder
	script := newTransportScript(t, func(r *http.Request) (*http.Response, error) {
		for name, lines := range r.Header {
			wire.WriteString(name + ": " + strings.Join(lines, "|") + "\n")
		}
		return transportAnswer(201)(r)
	})
	r := transportRequest(t.Context(), "$49")
	r.Header = http.Header{"idempotency-key": {transportK1}}
	resp, err := (&Transport{Base: script}).RoundTrip(r)
	wantTransportStatus(t, resp, err, 201)
	if want := "Idempotency-Key: " + transportK1 + "\n"; wire.String() != want {
		t.Errorf("written was\n%swant\n%s", wire.String(), want)
	}
}

func TestC12SameRequestSentTwiceHasAKeyForEach(t *testing.T) {
	s := newTransportServer(t, transportServe(201, ""), transportServe(201, ""), transportServe(201, ""), transportServe(201, ""))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		resp, err := s.client.Do(r)
		wantTransportStatus(t, resp, err, 201)
	}
	r.Header.Set(HeaderKey, transportK1)
	for range 2 {
		resp, err := s.client.Do(r)
		wantTransportStatus(t, resp, err, 201)
	}
	first, second := s.seen[0].keys[0], s.seen[1].keys[0]
	if first == second {
		t.Errorf("two sendings of a request without a key both came under %q", first)
	}
	if third, fourth := s.seen[2].keys[0], s.seen[3].keys[0]; third != transportK1 || fourth != transportK1 {
		t.Errorf("the caller's key came as %q and %q", third, fourth)
	}
}

func TestC12RedirectKeepsKeyAndBody(t *testing.T) {
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, own := range []string{"", transportK1} {
			redirect := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"/on", status) }
			s := newTransportServer(t, redirect, redirect, transportDrop, transportServe(503, ""), transportServe(201, ""))
			resp, err := s.post("$49", func(r *http.Request) {
				if own != "" {
					r.Header = http.Header{"idempotency-key": {own}}
				}
			})
			wantTransportStatus(t, resp, err, 201)
			key := s.wantTries(5, "$49")
			if last := s.seen[4].path; last != "/charges/on/on" {
				t.Errorf("the last request went to %q", last)
			}
			if own != "" && key != own {
				t.Errorf("%d: the caller's key was replaced by %q", status, key)
			}
			if shown := resp.Request.Header.Get(HeaderKey); shown != key {
				t.Errorf("%d: the caller is shown %q, sent was %q", status, shown, key)
			}
		}
	}
}

// http.RoundTripper: "RoundTrip should not modify the request".
func TestC12CallersRequestIsNotChanged(t *testing.T) {
	for _, header := range []http.Header{{}, {"X-A": {"1"}, "idempotency-key": {transportK1}}} {
		s := transportC12(t)
		var before http.Request
		var request *http.Request
		var lines http.Header
		resp, err := s.post("$49", func(r *http.Request) {
			r.Header = header
			request, before, lines = r, *r, header.Clone()
		})
		wantTransportStatus(t, resp, err, 201)
		if !maps.EqualFunc(request.Header, lines, slices.Equal) {
			t.Errorf("the caller's header became %v", request.Header)
		}
		switch {
		case request.Body != before.Body, request.ContentLength != before.ContentLength, request.Response != nil, request.URL != before.URL,
			request.GetBody == nil, request.Context() != before.Context():
			t.Errorf("the caller's request was changed")
		}
		if resp.Request == request {
			t.Error("the answer's request is the caller's, which does not hold the key")
		}
	}
	// A body without GetBody is read beforehand; the request does not gain one.
	body := &transportBody{Reader: strings.NewReader("$49")}
	r := transportRequest(t.Context(), "")
	r.Body, r.GetBody, r.ContentLength = body, nil, 0
	script := newTransportScript(t, transportFails(io.ErrUnexpectedEOF), transportAnswer(201))
	resp, err := (&Transport{Base: script, MinBackoff: 1}).RoundTrip(r)
	wantTransportStatus(t, resp, err, 201)
	script.wantTries(2, "$49")
	if r.Body != body || r.GetBody != nil || r.ContentLength != 0 || len(r.Header) != 0 {
		t.Error("the caller's request was changed")
	}
}
