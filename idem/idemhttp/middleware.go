package idemhttp

import (
	"log/slog"
	"net/http"

	"github.com/pgidem/pgidem/idem"
)

// Middleware runs handlers under the idempotency keys of their requests. Store and Tenant are required.
//
// It belongs around a handler and not around the router, for it needs the route, and behind authentication: whoever reaches it
// may read the answers of its tenant. Safe methods (GET, HEAD, OPTIONS, TRACE) pass through untouched.
//
// The handler gets the request with a body that can be read whole, and without Accept-Encoding, so that no answer is stored in
// a coding that a retry does not understand; compress outside.
type Middleware struct {
	// Store holds the keys. Its Policy is every route's; With gives a route its own. nil: every request is 500.
	Store *idem.Store
	// Tenant says whose request this is, from what authentication found and never from what the client may choose. An error that
	// is ErrUnauthenticated is answered 401, any other error and "" are 500. nil: every request is 500, for there is no safe
	// default; SingleTenant is how to say that all share one namespace.
	Tenant func(*http.Request) (string, error)
	// Header carries the key, as a structured-field string or bare (ParseKey). "": Idempotency-Key.
	Header string
	// Key finds the key in place of Header, for instance in a field of the body. "" is a missing key; an error is answered 400
	// with its text. r.Body is not to be read. nil: Header.
	Key func(r *http.Request, body []byte) (string, error)
	// Optional lets requests without a key run plain, unprotected. false: they are answered 400.
	Optional bool
	// Endpoint names the route, 1 to 1,024 bytes. nil: the method and the pattern that net/http's ServeMux matched
	// ("POST /orders/{id}/refund"); a request that has none is 500.
	Endpoint func(*http.Request) string
	// Fingerprint says which request this is; a key that comes with another one is answered 422. nil: RequestFingerprint.
	Fingerprint Fingerprinter
	// Outcome says by the status of an answer what becomes of the key; it is not asked about 1xx. nil: KeepDefinitive.
	Outcome func(status int) Outcome
	// KeepHeader says which fields of an answer are stored, by their canonical names. nil: the function KeepHeader.
	KeepHeader func(name string) bool
	// MaxBody is the most bytes that the body of a request may have; more is answered 413 before the key is claimed. 0: 1 MiB.
	// How much of an answer is kept is Policy.MaxBody.
	MaxBody int64
	// Logger hears of faults of the server's and of misuse, never of a key. nil: slog.Default().
	Logger *slog.Logger
}

// With is the middleware of a route that has a policy of its own.
func (m *Middleware) With(p idem.Policy) *Middleware {
	with := *m
	if m.Store != nil {
		with.Store = m.Store.With(p)
	}
	return &with
}

func (m *Middleware) outcome(status int) Outcome {
	if status < 200 {
		return Unknown // 101: the answer is what comes after it
	}
	if m.Outcome != nil {
		return m.Outcome(status)
	}
	return KeepDefinitive(status)
}

func (m *Middleware) keepHeader(name string) bool {
	if m.KeepHeader != nil {
		return m.KeepHeader(name)
	}
	return KeepHeader(name)
}

func (m *Middleware) logger() *slog.Logger {
	if m.Logger != nil {
		return m.Logger
	}
	return slog.Default()
}

// isSafe reports whether a method asks for no effect (RFC 9110 section 9.2.1).
func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
