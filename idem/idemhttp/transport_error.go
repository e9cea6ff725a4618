package idemhttp

import (
	"errors"
	"fmt"
)

// TransportError is every error of Transport for a request that takes a key; errors.As finds it behind http.Client's *url.Error.
// It tells the key, so that the caller can come back with it. Its text does not: keys are secrets of their clients.
type TransportError struct {
	Key   string // that was or would have been sent; "" where the request named two
	Tries int    // how often Base was asked; 0: nothing was sent
	Err   error  // what ended the last try, or the waiting for the next
}

func (e *TransportError) Error() string {
	switch e.Tries {
	case 0:
		return fmt.Sprintf("idemhttp: nothing was sent: %v", e.Err)
	case 1:
		return fmt.Sprintf("idemhttp: no answer after 1 try: %v", e.Err)
	}
	return fmt.Sprintf("idemhttp: no answer after %d tries: %v", e.Tries, e.Err)
}

func (e *TransportError) Unwrap() error { return e.Err }

// Timeout reports whether time ran out; url.Error.Timeout asks for it.
func (e *TransportError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}
