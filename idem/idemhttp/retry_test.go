package idemhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func transportProblem(name string) string {
	return fmt.Sprintf(`{"type":"%s%s","title":"t","status":409}`, ProblemBase, name)
}

func TestNotYetReadsAnswers(t *testing.T) {
	const json, html = "application/problem+json", "text/html"
	padded := func(name string, size int) string {
		return strings.Repeat(" ", size-len(transportProblem(name))) + transportProblem(name)
	}
	for _, c := range []struct {
		status            int
		media, body, wait string
		want              bool
	}{
		{200, "", "", "", false}, {201, "", "", "1", false}, {202, "", "", "", false}, {204, "", "", "", false},
		{303, "", "", "1", false}, {307, "", "", "", false},
		{400, json, transportProblem("missing-key"), "", false}, {401, "", "", "", false}, {402, "", "", "", false},
		{403, "", "", "", false}, {404, "", "", "", false}, {413, json, transportProblem("body-too-large"), "", false},
		{422, json, transportProblem("key-reused"), "", false}, {423, "", "", "1", false},
		{408, "", "", "", true}, {425, "", "", "", true}, {429, "", "", "", true},
		{500, "", "", "1", false}, {501, "", "", "", false}, {505, "", "", "", false},
		{502, "", "", "", true}, {503, json, transportProblem("unavailable"), "1", true},
		{503, json, transportProblem("commit-unknown"), "", true}, {504, html, "<p>", "", true},

		{409, json, transportProblem("in-flight"), "1", true},
		{409, json, transportProblem("claim-contended"), "", true},
		{409, json + "; charset=utf-8", transportProblem("in-flight"), "", true},
		{409, "Application/Problem+JSON", transportProblem("in-flight"), "", true},
		{409, json, `{"type":"https://mirror.test/docs#in-flight"}`, "", true},
		{409, json, transportProblem("outcome-unknown"), "", false},
		{409, json, transportProblem("outcome-unknown"), "1", false},
		{409, json, transportProblem("response-not-kept"), "1", false},
		{409, json, padded("in-flight", peekLimit), "", true},
		{409, json, padded("in-flight", peekLimit+1), "", false}, // no document of ours
		// A foreign server's 409 means "still running" only if it says when to come back.
		{409, "", "", "", false}, {409, "", "", "2", true}, {409, html, "in-flight", "", false},
		{409, "application/json", transportProblem("in-flight"), "", false},
		{409, json, `{"type":"https://api.test/problems/sold-out"}`, "", false},
		{409, json, `{"type":"https://api.test/problems/busy"}`, "2", true},
		{409, json, `{"type":"not-in-flight"}`, "", false},
		{409, json, `{"title":"no type"}`, "", false}, {409, json, `{"type":7}`, "", false}, {409, json, `not json`, "2", true},
	} {
		resp, _ := transportAnswerBody(c.status, c.body, "Content-Type", c.media)(nil)
		if c.wait != "" {
			resp.Header.Set("Retry-After", c.wait)
		}
		if got := NotYet(resp, nil); got != c.want {
			t.Errorf("%d %s %.90s Retry-After %q: %v, want %v", c.status, c.media, c.body, c.wait, got, c.want)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != c.body {
			t.Errorf("%d: of %d bytes of the body %d are left (%v)", c.status, len(c.body), len(body), err)
		}
	}
	if NotYet(&http.Response{StatusCode: 409, Header: http.Header{"Content-Type": {json}}}, nil) {
		t.Error("an answer without a body is still running")
	}
}

// The look at a 409 ends after some bytes, and what is looked at is not lost, nor the error that cut it short, nor Close.
func TestNotYetLeavesTheBodyWhole(t *testing.T) {
	long := strings.Repeat("x", 10*peekLimit)
	read := 0
	body := &transportBody{Reader: io.TeeReader(strings.NewReader(long), transportCount{&read})}
	resp := &http.Response{StatusCode: 409, Header: http.Header{"Content-Type": {"application/problem+json"}}, Body: body}
	if NotYet(resp, nil) {
		t.Error("a body that is no problem document is still running")
	}
	if read > 2*peekLimit {
		t.Errorf("%d bytes were read to see the type", read)
	}
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != long {
		t.Errorf("%d bytes of %d are left (%v)", len(got), len(long), err)
	}
	resp.Body.Close()
	body.wantClosed(t)

	cut := io.MultiReader(strings.NewReader(`{"type":"`), iotest.ErrReader(errTransportLine))
	resp.Body = io.NopCloser(cut)
	if NotYet(resp, nil) {
		t.Error("an answer that cannot be read is still running")
	}
	if got, err := io.ReadAll(resp.Body); !errors.Is(err, errTransportLine) || string(got) != `{"type":"` {
		t.Errorf("the caller reads %q and then %v", got, err)
	}
}

type transportCount struct{ n *int }

func (c transportCount) Write(p []byte) (int, error) {
	*c.n += len(p)
	return len(p), nil
}

func TestNotYetReadsErrors(t *testing.T) {
	dialer := &net.Dialer{Deadline: time.Unix(1, 0)}
	_, timedOut := dialer.Dial("tcp", "127.0.0.1:1")
	if !errors.Is(timedOut, context.DeadlineExceeded) {
		t.Fatalf("a dialer's time-out is %v, which is no trap", timedOut)
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errTransportLine, true},
		{io.EOF, true},
		{io.ErrUnexpectedEOF, true},
		{timedOut, true},
		{&tryTimeoutError{time.Second}, true},
		{&net.DNSError{Err: "no such host", Name: "api.test", IsNotFound: true}, true},
		{context.Canceled, false},
		{context.DeadlineExceeded, false},
		{&url.Error{Op: "Post", Err: context.DeadlineExceeded}, false},
		{fmt.Errorf("send: %w", context.Canceled), false},
		{fmt.Errorf("%w (26 h)", ErrKeyTooOld), false},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, false},
	} {
		if got := NotYet(nil, c.err); got != c.want {
			t.Errorf("%T %v: %v, want %v", c.err, c.err, got, c.want)
		}
	}
}

// net/http has no types for these, only words, and this test sees them change.
func TestNotYetKnowsWhatNetHTTPNeverSends(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Config.ErrorLog = transportNoLog
	t.Cleanup(server.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	for name, mutate := range map[string]func(*http.Request){
		"scheme":       func(r *http.Request) { r.URL.Scheme = "ftp" },
		"host":         func(r *http.Request) { r.URL.Host = "" },
		"URL":          func(r *http.Request) { r.URL = nil },
		"header":       func(r *http.Request) { r.Header = nil },
		"header name":  func(r *http.Request) { r.Header["a b"] = []string{"c"} },
		"key":          func(r *http.Request) { r.Header[HeaderKey] = []string{"a\nb"} },
		"trailer":      func(r *http.Request) { r.Trailer = http.Header{"A": {"b\nc"}} },
		"method":       func(r *http.Request) { r.Method = "P OST" },
		"certificate":  func(*http.Request) {},
		"no TLS there": func(r *http.Request) { r.URL.Host = strings.TrimPrefix(plain.URL, "http://") },
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("$49"))
		if err != nil {
			t.Fatal(err)
		}
		mutate(r)
		resp, err := base.RoundTrip(r)
		if err == nil {
			resp.Body.Close()
		}
		if err == nil || NotYet(nil, err) {
			t.Errorf("%s: %T %v is tried again", name, err, err)
		}
	}
}
