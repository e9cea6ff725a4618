package idemhttp

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// HeaderKey is the header that carries the key, unless Middleware.Header or Transport.Header names another.
const HeaderKey = "Idempotency-Key"

// maxKey is the most bytes that a key may have: what the database takes, and what Stripe allows.
const maxKey = 255

// Reasons why a request has no usable key, for errors.Is.
var (
	// ErrMissingKey: the header is not there.
	ErrMissingKey = errors.New("the idempotency key is missing")
	// ErrMalformedKey: the header is there and holds no single key of 1 to 255 bytes.
	ErrMalformedKey = errors.New("the idempotency key is malformed")
)

// ParseKey returns the key that a header's lines hold. A structured-field string ("abc", RFC 9651 section 3.3.3; its parameters
// are ignored) and the same characters bare (abc) are one key. A bare key is of visible ASCII without ", comma, semicolon, \ and
// space. Everything else is ErrMalformedKey: two lines, a list, an empty key, one over 255 bytes, a broken quote, control and
// non-ASCII bytes. No line at all is ErrMissingKey.
func ParseKey(lines []string) (string, error) {
	switch len(lines) {
	case 0:
		return "", ErrMissingKey
	case 1:
	default:
		return "", fmt.Errorf("%w: %d lines of it were sent", ErrMalformedKey, len(lines))
	}
	key := strings.Trim(lines[0], " ")
	if strings.HasPrefix(key, `"`) {
		var ok bool
		if key, ok = parseStringItem(key); !ok {
			return "", fmt.Errorf("%w: it starts with a quote and is no structured-field string", ErrMalformedKey)
		}
	} else if i := strings.IndexFunc(key, notBare); i >= 0 {
		return "", fmt.Errorf("%w: a bare key holds visible ASCII without quote, comma, semicolon, backslash and space", ErrMalformedKey)
	}
	if err := checkKey(key); err != nil {
		return "", err
	}
	return key, nil
}

func notBare(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune(`",;\`, c)
}

// checkKey holds what every key must be, wherever the request had it.
func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrMalformedKey)
	case len(key) > maxKey:
		return fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrMalformedKey, len(key), maxKey)
	case !utf8.ValidString(key) || strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("%w: it is not UTF-8 text without NUL", ErrMalformedKey)
	}
	return nil
}
