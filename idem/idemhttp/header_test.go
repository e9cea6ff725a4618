package idemhttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pgidem/pgidem/idem/idemhttp"
)

// C14: what belongs to one caller or one message is not replayed to another; what belongs to the answer is. The first answer
// has all of it.
func TestC14HeadersOfOneCallerAreNotReplayed(t *testing.T) {
	b := setup(t)
	stored := map[string]string{
		"Location": "/orders/1", "Etag": `"a"`, "Content-Type": "application/json; charset=utf-8", "Content-Language": "en",
		"Link": "</2>; rel=next", "Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT", "Cache-Control": "no-store", "Vary": "Accept",
		"Retry-After": "7", "Content-Disposition": "attachment", "X-Order": "1", "Deprecation": "@1", "Www-Authenticate": "Basic",
		"Expires": "0", "Content-Location": "/orders/1", "Accept-Patch": "x", "Allow": "POST", "X-Request": "1", "Xset-Cookie": "1",
	}
	notStored := map[string]string{
		"Set-Cookie": "session=alice", "Set-Cookie2": "session=alice",
		"X-Request-Id": "1", "Request-Id": "1", "X-Correlation-Id": "1", "Correlation-Id": "1", "X-Amzn-Requestid": "1",
		"Traceparent": "00-1-1-01", "Tracestate": "a=b", "Traceresponse": "00-1-1-01", "Baggage": "a=b", "B3": "0",
		"X-B3-Traceid": "1", "X-Trace-Id": "1", "X-Amzn-Trace-Id": "1", "X-Cloud-Trace-Context": "1", "Uber-Trace-Id": "1",
		"X-Datadog-Trace-Id": "1", "Server-Timing": "db;dur=1",
		"Access-Control-Allow-Origin": "https://a.example", "Access-Control-Allow-Credentials": "true",
		"Access-Control-Expose-Headers": "ETag",
		"Ratelimit":                     `"burst";r=1`, "Ratelimit-Policy": `"burst";q=2`, "Ratelimit-Limit": "1", "Ratelimit-Remaining": "1",
		"Ratelimit-Reset": "1", "X-Ratelimit-Limit": "1", "X-Ratelimit-Remaining": "1", "X-Rate-Limit-Limit": "1",
		"Proxy-Authenticate": "Basic", "Proxy-Connection": "close", "Keep-Alive": "timeout=5", "Te": "trailers", "Upgrade": "h2c",
		"Idempotent-Replayed": "true",
	}
	h := func(w http.ResponseWriter, _ *http.Request, _ func()) {
		for _, fields := range []map[string]string{stored, notStored} {
			for name, value := range fields {
				w.Header().Set(name, value)
			}
		}
		w.Header().Add("Set-Cookie", "cart=1")
		w.WriteHeader(201)
		_, _ = io.WriteString(w, "{}")
	}
	b.inBothModes(func(b *bundle, mode mode) {
		_, again := b.asNetHTTP(mode, h)
		want := http.Header{"Idempotent-Replayed": {"true"}, "Content-Length": {"2"}}
		for name, value := range stored {
			want.Set(name, value)
		}
		if diff := cmp.Diff(want, again.Header); diff != "" {
			b.Errorf("the replay's header (-want +got):\n%s", diff)
		}
	})
}

// C14: authentication runs before the replay, wherever it stands: who is no longer let in gets 401 and nothing of the answer.
func TestC14RevokedTokenGetsNoReplay(t *testing.T) {
	b := setup(t)
	inFront := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "revoked" {
				w.WriteHeader(401)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	byTenant := *b.m
	byTenant.Tenant = func(r *http.Request) (string, error) {
		if r.Header.Get("Authorization") == "revoked" {
			return "", idemhttp.ErrUnauthenticated
		}
		return "T1", nil
	}
	b.inBothModes(func(b *bundle, mode mode) {
		for name, url := range map[string]string{
			"in front":  b.quiet(inFront(mode.handle(b, b.m, created))),
			"by Tenant": b.quiet(mode.handle(b, &byTenant, created)),
		} {
			r := newRequest(url, `"`+b.Name()+name+`"`, "{}")
			first := b.look(r)
			r = newRequest(url, `"`+b.Name()+name+`"`, "{}")
			r.Header.Set("Authorization", "revoked")
			if got := b.look(r); first.Status != 201 || got.Status != 401 || got.replayed() || strings.Contains(got.Body, "ch_1") {
				b.Errorf("%s: %+v", name, got)
			}
		}
	})
}

// C14: an operator who keeps Set-Cookie gets its lines as lines.
func TestKeepHeaderDecidesWhatIsStored(t *testing.T) {
	b := setup(t)
	b.m.KeepHeader = func(name string) bool { return name == "Set-Cookie" || strings.HasPrefix(name, "X-") }
	h := writes(201, "{}", "Set-Cookie", "session=alice; Path=/", "Set-Cookie", "cart=1, 2", "x-order", "1", "X-Order", "2", "Link", "</2>",
		"Content-Type", "application/json")
	b.inBothModes(func(b *bundle, mode mode) {
		_, again := b.asNetHTTP(mode, h)
		want := http.Header{
			"Set-Cookie": {"session=alice; Path=/", "cart=1, 2"}, "X-Order": {"2", "1"}, "Idempotent-Replayed": {"true"}, "Content-Length": {"2"},
		}
		if diff := cmp.Diff(want, again.Header); diff != "" {
			b.Errorf("the replay's header (-want +got):\n%s", diff)
		}
	})
}

// A field that Connection names is hop by hop in that answer (RFC 9110 section 7.6.1), whatever KeepHeader says.
func TestFieldsThatConnectionNamesAreNotStored(t *testing.T) {
	b := setup(t)
	b.m.KeepHeader = func(string) bool { return true }
	h := writes(201, "{}", "Connection", "close, x-hop", "Connection", " X-Second ", "X-Hop", "1", "X-Second", "2", "X-End", "3", "Date", "today",
		"Keep-Alive", "timeout=5", "Content-Type", "application/json")
	b.inBothModes(func(b *bundle, mode mode) {
		_, again := b.asNetHTTP(mode, h)
		want := http.Header{
			"X-End": {"3"}, "Content-Type": {"application/json"}, "Idempotent-Replayed": {"true"}, "Content-Length": {"2"},
		}
		if diff := cmp.Diff(want, again.Header); diff != "" {
			b.Errorf("the replay's header (-want +got):\n%s", diff)
		}
	})
}

// What an outer middleware sets is its own business: it is not stored, and on a replay it stands there once, as set for that
// request.
func TestHeadersOfOuterMiddlewareAreNeitherStoredNorDoubled(t *testing.T) {
	b := setup(t)
	outside := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Frame-Options", "DENY")
			w.Header().Add("Vary", "Origin")
			w.Header().Set("X-Span", r.Header.Get("X-Try"))
			w.Header().Set("X-Replaced", "outer")
			w.Header().Set("X-Removed", "outer")
			next.ServeHTTP(w, r)
		})
	}
	h := func(w http.ResponseWriter, _ *http.Request, charge func()) {
		charge()
		w.Header().Add("Vary", "Accept-Language")
		w.Header().Set("X-Replaced", "inner")
		w.Header().Set("X-Order", "1")
		w.Header().Del("X-Removed")
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(201)
	}
	b.inBothModes(func(b *bundle, mode mode) {
		server := b.serve(outside(mode.handle(b, b.m, h)))
		ask := func(try, body string) seen {
			r := newRequest(server.URL+"/charges", b.Name(), body)
			r.Header.Set("X-Try", try)
			return b.look(r)
		}
		first := ask("1", "{}")
		if diff := cmp.Diff(http.Header{
			"X-Frame-Options": {"DENY"}, "Vary": {"Origin", "Accept-Language"}, "X-Span": {"1"}, "X-Replaced": {"inner"}, "X-Order": {"1"},
			"Content-Type": {"text/plain"}, "Content-Length": {"0"},
		}, first.Header); diff != "" {
			b.Errorf("first (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(http.Header{
			"X-Frame-Options": {"DENY"}, "Vary": {"Origin", "Accept-Language"}, "X-Span": {"2"}, "X-Replaced": {"inner"}, "X-Order": {"1"},
			"Content-Type": {"text/plain"}, "Content-Length": {"0"}, "Idempotent-Replayed": {"true"}, "X-Removed": {"outer"},
		}, ask("2", "{}").Header); diff != "" {
			b.Errorf("replay (-want +got):\n%s", diff)
		}
		problem := ask("3", `{"amount":9000}`)
		if h := problem.Header; problem.Status != 422 || h.Get("X-Span") != "3" || h.Get("X-Frame-Options") != "DENY" || h.Get("X-Order") != "" {
			b.Errorf("problem: %+v", problem)
		}
		var header string
		const stored = "SELECT convert_from(response_header, 'UTF8') FROM idem.keys WHERE key = $1"
		if err := b.pool.QueryRow(b.Context(), stored, b.Name()).Scan(&header); err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"X-Frame-Options", "X-Span", "X-Removed"} {
			if strings.Contains(header, name) {
				b.Errorf("%s is stored:\n%s", name, header)
			}
		}
	})
}

// The constants name what a browser has to be told of.
func TestCORSConstantsNameOurHeaders(t *testing.T) {
	if idemhttp.CORSAllowHeaders != "Idempotency-Key" || idemhttp.CORSExposeHeaders != "Idempotent-Replayed, Retry-After" {
		t.Errorf("%q, %q", idemhttp.CORSAllowHeaders, idemhttp.CORSExposeHeaders)
	}
}
