package idemhttp

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/pgidem/pgidem/idem"
)

// Fingerprinter says which request this is, at a version of how that is said: 0 asks for the present version, another number for
// what that version would say, because the key may have been stored by an older binary. A version that it does not know is an
// error, and the request is answered 503: a newer binary stored the key, and this one cannot tell whether the requests are the
// same. body is the whole body; r.Body is not to be read.
type Fingerprinter func(r *http.Request, body []byte, version byte) (idem.Fingerprint, error)

// RequestFingerprint is the default Fingerprinter: method, path and query as they were sent, media type, content coding and body.
// Two requests are the same when all of these are, byte for byte, save that a JSON body (application/json, text/json, +json) is
// compared as idem.FingerprintJSON compares it: the order of members, white space and escapes do not matter, digits do.
//
// So the order of the query's parameters matters, /orders/%31 is not /orders/1, and a form a=1&b=2 is not b=2&a=1. Other headers,
// the host and the scheme do not count. Where a handler outside has changed the URL (http.StripPrefix), both what was sent and
// what it became count.
func RequestFingerprint(r *http.Request, body []byte, version byte) (idem.Fingerprint, error) {
	return fingerprint(r, body, version, isJSON(r))
}

func fingerprint(r *http.Request, body []byte, version byte, json bool) (idem.Fingerprint, error) {
	sent := sentURL(r)
	parts := [][]byte{
		[]byte(r.Method), []byte(sent.EscapedPath()), []byte(sent.RawQuery), []byte(r.URL.EscapedPath()), []byte(r.URL.RawQuery),
		[]byte(mediaType(r)), []byte(contentCoding(r)),
	}
	switch {
	case version == 0 && json:
		return idem.FingerprintJSON(body, parts...), nil
	case version == 0:
		return idem.FingerprintOf(append(parts, body)...), nil
	case json:
		return idem.FingerprintJSONAt(version, body, parts...)
	}
	return idem.FingerprintAt(version, append(parts, body)...)
}

// sentURL is the URL before anybody rewrote it: behind a router that strips /shops/1 and /shops/2, two orders look alike.
func sentURL(r *http.Request) *url.URL {
	if sent, err := url.ParseRequestURI(r.RequestURI); err == nil {
		return sent
	}
	return r.URL
}

// mediaType is the request's media type without parameters; where the header cannot be read, the header.
func mediaType(r *http.Request) string {
	header := strings.Join(r.Header.Values("Content-Type"), ", ")
	if media, _, err := mime.ParseMediaType(header); err == nil {
		return media
	}
	return header
}

// contentCoding is how the body is coded, "" where it is plain.
func contentCoding(r *http.Request) string {
	coding := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ", "))
	if coding == "identity" {
		return ""
	}
	return coding
}

// isJSON reports whether the body can be compared as JSON: it says so, and is not coded.
func isJSON(r *http.Request) bool {
	media := mediaType(r)
	return contentCoding(r) == "" &&
		(media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json"))
}
