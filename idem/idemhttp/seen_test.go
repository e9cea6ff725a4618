package idemhttp_test

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seen is all that a client sees of an answer.
type seen struct {
	Interim []string // 1xx with their fields, in order
	Status  int
	Header  http.Header // without Date
	Body    string
	Trailer http.Header
	Cut     bool // the connection ended before the answer did
}

// problem is the problem document that was seen.
func (s seen) problem() string { return answer{s.Status, s.Header, s.Body}.problem().Type }

func (s seen) replayed() bool { return s.Header.Get("Idempotent-Replayed") == "true" }

// look sends r on a connection of its own, as it is: nothing is decompressed, no redirect followed, no try repeated.
func (b *bundle) look(r *http.Request) (s seen) {
	b.Helper()
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			text := fmt.Sprint(code)
			for _, name := range slices.Sorted(maps.Keys(header)) {
				text += fmt.Sprintf(" %s=%q", name, header[name])
			}
			s.Interim = append(s.Interim, text)
			return nil
		},
	}))
	resp, err := transport.RoundTrip(r)
	if err != nil {
		s.Cut = true
		return s
	}
	defer resp.Body.Close()
	s.Status, s.Header = resp.StatusCode, resp.Header
	delete(s.Header, "Date")
	if resp.StatusCode != http.StatusSwitchingProtocols { // whose body has no end
		body, err := io.ReadAll(resp.Body)
		s.Body, s.Cut = string(body), err != nil
	}
	s.Trailer = resp.Trailer
	return s
}

// serveLogged is serve with the server's own log.
func (b *bundle) serveLogged(h http.Handler, patterns ...string) (*httptest.Server, *syncBuffer) {
	b.Helper()
	mux := http.NewServeMux()
	for _, pattern := range append(patterns, "/charges") {
		mux.Handle(pattern, h)
	}
	text := new(syncBuffer)
	server := httptest.NewUnstartedServer(mux)
	server.Config.ErrorLog = log.New(text, "", 0)
	server.Start()
	b.Cleanup(server.Close)
	return server, text
}

// bare is h without the middleware; its charges come to nothing.
func bare(h handlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(w, r, func() {}) })
}

// asNetHTTP sends one request to h without the middleware and one to h under it, and fails unless their clients see the same. It
// returns what the first caller saw, and what a retry did.
func (b *bundle) asNetHTTP(mode mode, h handlerFunc, headers ...string) (first, again seen) {
	b.Helper()
	alone, _ := b.serveLogged(bare(h))
	under, _ := b.serveLogged(mode.handle(b, b.m, h))
	request := func(url string) *http.Request {
		r := newRequest(url+"/charges", `"`+b.Name()+`"`, "{}")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		return r
	}
	want := b.look(request(alone.URL))
	first, again = b.look(request(under.URL)), b.look(request(under.URL))
	if diff := cmp.Diff(want, first); diff != "" {
		b.Errorf("the first caller does not see what net/http alone sends (-alone +under):\n%s", diff)
	}
	return first, again
}

// inBothModes runs a subtest in each mode.
func (b *bundle) inBothModes(test func(b *bundle, mode mode)) {
	b.Helper()
	for _, mode := range modes {
		b.Run(mode.name, func(t *testing.T) { test(b.in(t), mode) })
	}
}

// wantSameAgain fails unless again is first, marked: status, body and every header. Trailers, interim answers and framing are the
// first caller's alone.
func (b *bundle) wantSameAgain(first, again seen) {
	b.Helper()
	want := seen{Status: first.Status, Header: first.Header.Clone(), Body: first.Body}
	want.Header.Set("Idempotent-Replayed", "true")
	for _, name := range []string{"Content-Length", "Trailer"} {
		delete(want.Header, name)
	}
	got := seen{Status: again.Status, Header: again.Header.Clone(), Body: again.Body, Trailer: again.Trailer, Cut: again.Cut}
	delete(got.Header, "Content-Length")
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("a retry does not get the first answer (-first +retry):\n%s", diff)
	}
	if length := again.Header.Get("Content-Length"); length != "" && length != fmt.Sprint(len(again.Body)) {
		b.Errorf("Content-Length %s of a replay of %d bytes", length, len(again.Body))
	}
}
