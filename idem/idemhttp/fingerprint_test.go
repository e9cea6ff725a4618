package idemhttp_test

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pgidem/pgidem/idem"
	"github.com/pgidem/pgidem/idem/idemhttp"
)

// sample is a request: method, target and body. What is left out is POST /charges with a JSON body.
type sample struct {
	method, target, body string
	header               http.Header
	outside              func(*http.Request) // what a handler outside the middleware did to it
}

// jsonSample is a request with a JSON body.
func jsonSample(body string) sample { return sample{body: body} }

// typed is a request whose body has the media type; "" sends no Content-Type.
func typed(media, body string) sample {
	return sample{body: body, header: http.Header{"Content-Type": {media}}}
}

func (s sample) request() *http.Request {
	if s.method == "" {
		s.method = http.MethodPost
	}
	if s.target == "" {
		s.target = "/charges"
	}
	r := httptest.NewRequest(s.method, s.target, strings.NewReader(s.body))
	r.Header.Set("Content-Type", "application/json")
	for name, values := range s.header {
		r.Header[name] = values
	}
	if r.Header.Get("Content-Type") == "" {
		r.Header.Del("Content-Type")
	}
	if s.outside != nil {
		s.outside(r)
	}
	return r
}

// of is the fingerprint of s by rule, in its present version.
func (s sample) of(t fataler, rule idemhttp.Fingerprinter) idem.Fingerprint {
	t.Helper()
	f, err := rule(s.request(), []byte(s.body), 0)
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return f
}

// fataler is a test of testing's or of rapid's.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (s sample) String() string {
	return fmt.Sprintf("%s %s %v %.60q", s.method, s.target, s.header, s.body)
}

// oneRequest fails unless rule takes all samples for one request.
func oneRequest(t *testing.T, rule idemhttp.Fingerprinter, samples ...sample) {
	t.Helper()
	for _, s := range samples[1:] {
		if s.of(t, rule) != samples[0].of(t, rule) {
			t.Errorf("two requests: %v and %v", samples[0], s)
		}
	}
}

// differentRequests fails unless rule tells all samples apart.
func differentRequests(t *testing.T, rule idemhttp.Fingerprinter, samples ...sample) {
	t.Helper()
	seen := map[idem.Fingerprint]sample{}
	for _, s := range samples {
		f := s.of(t, rule)
		if other, dup := seen[f]; dup {
			t.Errorf("one request: %v and %v", other, s)
		}
		seen[f] = s
	}
}

func TestMethodPathAndQueryTellRequestsApart(t *testing.T) {
	differentRequests(t, idemhttp.RequestFingerprint,
		sample{target: "/orders/1/refund", body: "{}"},
		sample{target: "/orders/2/refund", body: "{}"},
		sample{target: "/orders/1/refund", body: "{}", method: "PATCH"},
		sample{target: "/orders/%31/refund", body: "{}"},
		sample{target: "/orders/1/refund/", body: "{}"},
		sample{target: "//orders/1/refund", body: "{}"},
		sample{target: "/Orders/1/refund", body: "{}"},
		sample{target: "/orders/1%2Frefund", body: "{}"},
		sample{target: "/orders/%00", body: "{}"},
		sample{target: "/refund?order=1", body: "{}"},
		sample{target: "/refund?order=2", body: "{}"},
		sample{target: "/refund?order=%31", body: "{}"},
		sample{target: "/refund", body: "{}"},
		sample{target: "/refund?a=1&b=2", body: "{}"},
		sample{target: "/refund?b=2&a=1", body: "{}"},
		sample{target: "/refund%3Fa=1&b=2", body: "{}"},
		sample{target: "/refund?a=1%26b=2", body: "{}"},
		sample{target: "/refund?a=1+b=2", body: "{}"},
		sample{target: "/refund?a=1%20b=2", body: "{}"},
	)
}

// A router that mounts another one strips what tells two shops apart.
func TestStrippedPrefixCounts(t *testing.T) {
	strip := func(prefix string) func(*http.Request) {
		return func(r *http.Request) {
			http.StripPrefix(prefix, http.HandlerFunc(func(_ http.ResponseWriter, stripped *http.Request) { *r = *stripped })).
				ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	shop1 := sample{target: "/shops/1/orders", outside: strip("/shops/1")}
	if got := shop1.request().URL.Path; got != "/orders" {
		t.Fatalf("the path is %q, so nothing is tested", got)
	}
	differentRequests(t, idemhttp.RequestFingerprint, shop1,
		sample{target: "/shops/2/orders", outside: strip("/shops/2")},
		sample{target: "/orders"},
		sample{target: "/shops/1/orders"},
	)
	// and the other way: what was sent is the same, and means something else by the time that it arrives
	rewrite := func(path, query string) func(*http.Request) {
		return func(r *http.Request) { r.URL.Path, r.URL.RawQuery = path, query }
	}
	differentRequests(t, idemhttp.RequestFingerprint, sample{target: "/"},
		sample{target: "/", outside: rewrite("/orders/1", "")},
		sample{target: "/", outside: rewrite("/orders/2", "")},
		sample{target: "/", outside: rewrite("/orders", "id=2")},
	)
}

func TestRequestWithoutRequestURIHasItsURL(t *testing.T) { // an adapter that is no net/http server may leave it out
	bare := func(r *http.Request) { r.RequestURI = "" }
	oneRequest(t, idemhttp.RequestFingerprint, sample{target: "/orders/1?a=1"}, sample{target: "/orders/1?a=1", outside: bare})
	differentRequests(t, idemhttp.RequestFingerprint, sample{target: "/orders/1", outside: bare}, sample{target: "/orders/2", outside: bare})
	oneRequest(t, idemhttp.RequestFingerprint, sample{target: "/orders/1?a=1"}, sample{target: "http://example.com/orders/1?a=1"})
}

func TestOtherHeadersHostAndSchemeDoNotCount(t *testing.T) {
	many := http.Header{
		"Date": {"Tue, 15 Nov 1994 08:12:31 GMT"}, "User-Agent": {"x"}, "Traceparent": {"00-1-2-01"}, "Accept": {"*/*"},
		"Idempotency-Key": {"other"}, "Authorization": {"Bearer fresh"}, "Content-Length": {"9"}, "X-Request-Id": {"1"}, "Accept-Encoding": {"br"},
	}
	oneRequest(t, idemhttp.RequestFingerprint, jsonSample(`{"a":1}`),
		sample{body: `{"a":1}`, header: many},
		sample{body: `{"a":1}`, outside: func(r *http.Request) { r.Host, r.RemoteAddr, r.Proto = "other.example", "[::1]:9", "HTTP/2.0" }},
		sample{body: `{"a":1}`, outside: func(r *http.Request) { r.ContentLength, r.TransferEncoding = -1, []string{"chunked"} }},
		sample{body: `{"a":1}`, target: "https://other.example/charges"},
	)
}

func TestMediaTypeAndCodingCount(t *testing.T) {
	const body = `{"a":1}`
	differentRequests(t, idemhttp.RequestFingerprint,
		typed("application/json", body),
		typed("text/json", body),
		typed("application/vnd.api+json", body),
		typed("text/plain", body),
		typed("application/x-www-form-urlencoded", body),
		typed("application/octet-stream", body),
		typed("not a media type", body),
		typed("", body),
		sample{body: body, header: http.Header{"Content-Encoding": {"gzip"}}},
		sample{body: body, header: http.Header{"Content-Encoding": {"br"}}},
		sample{body: body, header: http.Header{"Content-Encoding": {"gzip", "br"}}},
	)
	oneRequest(t, idemhttp.RequestFingerprint, jsonSample(body),
		typed("application/json; charset=utf-8", body),
		typed("Application/JSON", body),
		typed("application/json;", body),
		sample{body: body, header: http.Header{"Content-Encoding": {"identity"}}},
		sample{body: body, header: http.Header{"Content-Encoding": {"Identity"}}},
	)
	oneRequest(t, idemhttp.RequestFingerprint,
		sample{body: body, header: http.Header{"Content-Encoding": {"gzip, br"}}},
		sample{body: body, header: http.Header{"Content-Encoding": {"GZIP", "br"}}})
}

func TestJSONIsComparedByWhatItSays(t *testing.T) {
	for _, media := range []string{"application/json", "text/json; charset=utf-8", "application/merge-patch+json"} {
		t.Run(media, func(t *testing.T) {
			same := func(bodies ...string) {
				t.Helper()
				oneRequest(t, idemhttp.RequestFingerprint, samples(media, bodies...)...)
			}
			other := func(bodies ...string) {
				t.Helper()
				differentRequests(t, idemhttp.RequestFingerprint, samples(media, bodies...)...)
			}
			same(`{"a":1,"b":[2,{}]}`, `{"b":[2,{}],"a":1}`, " {\n\t\"a\" : 1 ,\r\n\"b\": [2, { } ] }\n")
			same(`{"a":"é"}`, `{"a":"\u00e9"}`, `{"\u0061":"\u00E9"}`)
			same(`{"a":"</"}`, `{"a":"\u003c\/"}`)
			same("{\"a\":\"\u2028\"}", `{"a":"\u2028"}`)
			other(`{"a":1}`, `{"a":1.0}`, `{"a":1e0}`, `{"a":10e-1}`, `{"a":"1"}`, `{"a":[1]}`, `{"A":1}`, `{"a":1,"b":null}`, `{}`, `[]`, `null`, ``)
			other(`{"a":0}`, `{"a":-0}`, `{"a":0.0}`)
			other(`{"a":"é"}`, `{"a":"e\u0301"}`, `{"a":"E"}`)
			other(`{"to":9007199254740992,"n":5}`, `{"to":9007199254740993,"n":5}`) // C09
			other(`18446744073709551616`, `18446744073709551617`, `1e400`, `1e401`, `0.1`, `0.10000000000000001`)
			other(`{"amount":1,"amount":900}`, `{"amount":900}`, `{"amount":1}`, `{"amount":900,"amount":1}`, // C11
				`{"amount":1,"AMOUNT":900}`, `{"amount":1, "amount":900}`)
			other(`{"a":1}`, `{"a":1} x`, `{"a":1}{"a":1}`, `{"a":1}]`, "\ufeff"+`{"a":1}`) // C47
			other("\"\xff\"", "\"\xfe\"", "\"\ufffd\"", `"\ud800"`)
		})
	}
}

func samples(media string, bodies ...string) (all []sample) {
	for _, body := range bodies {
		all = append(all, typed(media, body))
	}
	return all
}

func TestEverythingElseIsComparedByItsBytes(t *testing.T) {
	for _, media := range []string{"", "text/plain", "application/xml", "application/jsonl", "application/json-seq", "application/x-www-form-urlencoded"} {
		differentRequests(t, idemhttp.RequestFingerprint, samples(media, `{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":1,"b":2} `, `a=1&a=2`, `a=2&a=1`, `a=2`, `a=%32`, ``)...)
	}
	gzip := http.Header{"Content-Encoding": {"gzip"}} // coded, so it is not JSON yet, whatever it looks like
	differentRequests(t, idemhttp.RequestFingerprint, sample{body: `{"a":1}`, header: gzip}, sample{body: `{"a":1} `, header: gzip})
}

// Golden vectors. They are in people's databases: a line may be added, never changed. Computed independently of this code: of
// each part its length in 8 bytes and its bytes, in the order of the list, behind the kind.
//
//	pgidem fingerprint 1 json\n  POST /orders/%31 q=1 /orders/%31 q=1 application/json "" {"a":"é","b":1.0}
//	pgidem fingerprint 1 raw\n   the same with {"a":1} x
//	pgidem fingerprint 1 parts\n the same with text/plain and a=1
func TestRequestFingerprintVersion1NeverChanges(t *testing.T) {
	const target = "/orders/%31?q=1"
	for _, golden := range []struct {
		s    sample
		want string
	}{
		{sample{target: target, body: `{"b":1.0, "a":"\u00e9"}`}, "019d21a44ea0762d87a07655bf0f273e3d3b620e87bf51dd813be055731bd3e075"},
		{sample{target: target, body: `{"a":1} x`}, "011980e0fb16e9dfac3d112b74390343e8b32ba3eed8bec5a7d442f1ac2a62da04"},
		{sample{target: target, body: "a=1", header: http.Header{"Content-Type": {"text/plain"}}}, "011b6b6f3bd0b9d64639332db539227783898ec522f890cacce01f0e29595ed477"},
	} {
		for _, version := range []byte{0, 1} {
			f, err := idemhttp.RequestFingerprint(golden.s.request(), []byte(golden.s.body), version)
			if got := hex.EncodeToString([]byte(f)); got != golden.want || err != nil {
				t.Errorf("%v at version %d = %s, %v; version 1 is %s. Another rule needs another version", golden.s, version, got, err, golden.want)
			}
		}
	}
}

func TestUnknownVersionIsAnError(t *testing.T) {
	for _, rule := range []idemhttp.Fingerprinter{idemhttp.RequestFingerprint, idemhttp.Omit("a"), idemhttp.Only("a")} {
		for _, s := range []sample{jsonSample(`{"a":1}`), jsonSample(`{"a":1} x`), typed("text/plain", "a")} {
			for _, version := range []byte{2, 16, 255} {
				if f, err := rule(s.request(), []byte(s.body), version); f != "" || err == nil {
					t.Errorf("%v at version %d: %x, %v; want an error", s, version, f, err)
				}
			}
		}
	}
}
