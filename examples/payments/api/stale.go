package main

import (
	"errors"

	"github.com/pgidem/pgidem/idem"
)

// stale is the flag for what becomes of an abandoned charge or refund: by what the processor can do (docs/choosing.md).
type stale idem.StalePolicy

var stales = map[stale]string{
	stale(idem.StaleRerun):   "rerun",   // it refuses a repeated key
	stale(idem.StaleResolve): "resolve", // it can be asked, and says what is pending
	stale(idem.StaleRefuse):  "refuse",  // neither
}

// UnmarshalText reads a flag.
func (s *stale) UnmarshalText(text []byte) error {
	for value, name := range stales {
		if name == string(text) {
			*s = value
			return nil
		}
	}
	return errors.New("it is rerun, resolve or refuse")
}

// MarshalText writes it.
func (s stale) MarshalText() ([]byte, error) { return []byte(stales[s]), nil }
