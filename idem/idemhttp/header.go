package idemhttp

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// HeaderReplayed marks an answer that an earlier request got first: "Idempotent-Replayed: true", as Stripe has it. First answers
// do not carry it.
const HeaderReplayed = "Idempotent-Replayed"

// For a server that browsers of other origins call (Fetch, CORS protocol).
const (
	CORSAllowHeaders  = HeaderKey                        // for Access-Control-Allow-Headers: what a page may send
	CORSExposeHeaders = HeaderReplayed + ", Retry-After" // for Access-Control-Expose-Headers: what a page may read
)

// Fields that belong to one message or one caller and not to the answer.
var (
	perMessage = []string{
		// framing, and hop by hop (RFC 9110 section 7.6.1)
		"Connection", "Content-Length", "Date", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade",
		// ours
		HeaderReplayed,
	}
	perCaller = []string{
		"Set-Cookie", "Set-Cookie2",
		// the request's name
		"X-Request-Id", "Request-Id", "X-Correlation-Id", "Correlation-Id", "X-Amzn-Requestid",
		// traces
		"Traceparent", "Tracestate", "Traceresponse", "Baggage", "B3", "X-Trace-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
		"Uber-Trace-Id", "Server-Timing",
		// rate limits
		"Ratelimit", "Ratelimit-Policy",
	}
	perCallerPrefixes = []string{"Access-Control-", "X-B3-", "X-Datadog-", "Ratelimit-", "X-Ratelimit-", "X-Rate-Limit-"}
)

// KeepHeader is which fields of an answer are stored by default: all but those that belong to one caller or one moment, which are
// Set-Cookie, CORS, rate-limit, trace and request-id fields. name is in canonical form (http.CanonicalHeaderKey). Date, framing
// and hop-by-hop fields are never stored, whatever a KeepHeader says.
func KeepHeader(name string) bool {
	return !slices.Contains(perCaller, name) &&
		!slices.ContainsFunc(perCallerPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// stored is what of header is recorded. before is what stood there when the handler began: it is the business of whoever set
// it, who will set it again for the retry.
func stored(header, before http.Header, keep func(string) bool) http.Header {
	named := strings.Split(strings.Join(header.Values("Connection"), ","), ",") // fields that are hop by hop in this answer
	for i, name := range named {
		named[i] = http.CanonicalHeaderKey(strings.TrimSpace(name))
	}
	kept := make(http.Header, len(header))
	for _, name := range slices.Sorted(maps.Keys(header)) { // as net/http sends them: two spellings are one field, in this order
		values := header[name]
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case slices.Contains(perMessage, canonical), slices.Contains(named, canonical), strings.HasPrefix(name, http.TrailerPrefix):
		case slices.Equal(values, before[name]) && len(values) > 0:
		case keep(canonical):
			kept[canonical] = append(kept[canonical], values...)
		}
	}
	return kept
}
