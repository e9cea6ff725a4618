package idem

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Key names one logical request: whose it is, what it is for, and the key that the client made for it.
//
// All but Request must be set. Tenant and ID take 1 to 255 bytes, Endpoint 1 to 1,024, of UTF-8 without NUL; anything else
// is ErrInvalidKey before the database is asked. The three are compared byte by byte.
type Key struct {
	Tenant      string      // whose namespace the key lives in; never derived from what a client may choose
	Endpoint    string      // what the key is for, such as "POST /charges"
	ID          string      // the idempotency key itself
	Fingerprint Fingerprint // identifies the request; AnyRequest says on purpose that requests are not compared
	Request     string      // optional: kept with the key, for a run without its client (Lease.Request)
}

// wholeTenant stands for the endpoint of a key that belongs to its tenant alone.
const wholeTenant = "*"

// validate reports what PostgreSQL would refuse after the effect.
func (k Key) validate() error {
	for _, field := range []struct {
		name, text string
		most       int
	}{{"Tenant", k.Tenant, 255}, {"Endpoint", k.Endpoint, 1024}, {"ID", k.ID, 255}} {
		switch {
		case field.text == "":
			return fmt.Errorf("%w: %s is empty", ErrInvalidKey, field.name)
		case len(field.text) > field.most:
			return fmt.Errorf("%w: %s has %d bytes, at most %d are allowed", ErrInvalidKey, field.name, len(field.text), field.most)
		case !utf8.ValidString(field.text) || strings.IndexByte(field.text, 0) >= 0:
			return fmt.Errorf("%w: %s is not UTF-8 text without NUL", ErrInvalidKey, field.name)
		}
	}
	switch n := len(k.Fingerprint); {
	case n == 0:
		return fmt.Errorf("%w: Fingerprint is empty; AnyRequest is how to say that requests are not compared", ErrInvalidKey)
	case n > 65:
		return fmt.Errorf("%w: Fingerprint has %d bytes, at most 65 are allowed", ErrInvalidKey, n)
	}
	return nil
}

// scoped is the key as it is stored under scope: a tenant-wide key moves its endpoint into the fingerprint, so that reuse at
// another endpoint is a mismatch.
func (k Key) scoped(s Scope) Key {
	if s != ScopeTenant {
		return k
	}
	if k.Fingerprint != AnyRequest {
		k.Fingerprint = k.Fingerprint.at(k.Endpoint)
	}
	k.Endpoint = wholeTenant
	return k
}
