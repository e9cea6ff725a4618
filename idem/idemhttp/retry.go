package idemhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// NotYet reports whether a try has not settled the request, so that the same request under the same key may. It is the default of
// Transport.Retry, and reads as follows.
//
// Without an answer: yes, since nobody knows whether the request arrived. Not where the context has ended, the key is too old,
// the request is one that net/http never sends, or the server's certificate was refused.
//
// With an answer: yes for 408, 425, 429, 502, 503 and 504, and for a 409 that says that another attempt is still running: a
// problem document of type in-flight or claim-contended or, from a server that does not speak in our types, a Retry-After. All
// else is final. To see a 409's type the beginning of its body is read; the body still yields all of itself afterwards.
func NotYet(resp *http.Response, err error) bool {
	if err != nil {
		return !hasEnded(err) && !neverHeals(err)
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		return stillRunning(resp)
	}
	return false
}

func stillRunning(resp *http.Response) bool {
	switch _, name, _ := strings.Cut(peekProblemType(resp), "#"); name {
	case "in-flight", "claim-contended":
		return true
	case "outcome-unknown", "response-not-kept":
		return false
	}
	return resp.Header.Get("Retry-After") != ""
}

// hasEnded reports whether err is the end of a context. A dialer's time-out claims to be context.DeadlineExceeded where it is
// asked (errors.Is), and heals: what counts is the error itself.
func hasEnded(err error) bool {
	if errors.Is(err, context.Canceled) {
		return true
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if err == context.DeadlineExceeded {
			return true
		}
	}
	return false
}

// unsendable are words of the errors with which net/http refuses a request before it dials. They have no types.
var unsendable = []string{
	"unsupported protocol scheme",
	"net/http: invalid ", // method, header or trailer
	"http: nil Request.",
	"http: no Host in request URL",
}

func neverHeals(err error) bool {
	var refused *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	if errors.Is(err, ErrKeyTooOld) || errors.As(err, &refused) || errors.As(err, &noTLS) {
		return true
	}
	text := err.Error()
	return slices.ContainsFunc(unsendable, func(words string) bool { return strings.Contains(text, words) })
}
