package idemhttp

import (
	"errors"
	"net/http"
	"strings"
)

var (
	errTwoKeys  = errors.New("the request names two different keys")
	errEmptyKey = errors.New("the request's key is empty")
)

// keyOf is the key of the logical request that r belongs to: the one that its caller set, else the one of the request that was
// redirected to r, else a new one.
func keyOf(r *http.Request, header string) (string, error) {
	key, set, err := keySetIn(r.Header, header)
	if err == nil && !set && r.Response != nil && r.Response.Request != nil {
		key, set, err = keySetIn(r.Response.Request.Header, header)
	}
	if err == nil && !set {
		key = NewKey()
	}
	return key, err
}

// keySetIn looks under every spelling of the header's name, since a map may be written without http.Header's methods.
func keySetIn(h http.Header, header string) (key string, set bool, err error) {
	for name, lines := range h {
		if !strings.EqualFold(name, header) {
			continue
		}
		for _, line := range lines {
			line = strings.Trim(line, " \t")
			switch {
			case line == "":
				return "", true, errEmptyKey
			case set && line != key:
				return "", true, errTwoKeys
			}
			key, set = line, true
		}
	}
	return key, set, nil
}

// withKey is a copy of h in which key stands once, under the header's canonical name.
func withKey(h http.Header, header, key string) http.Header {
	c := make(http.Header, len(h)+1)
	for name, lines := range h {
		if !strings.EqualFold(name, header) {
			c[name] = append([]string(nil), lines...)
		}
	}
	c.Set(header, key)
	return c
}
