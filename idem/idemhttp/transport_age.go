package idemhttp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrKeyTooOld: the key is older than Transport.MaxAge, so the server may have forgotten it and would run the request again.
// Nothing was sent by this try. Find out what became of the earlier ones; only then send the intention, under a fresh key.
var ErrKeyTooOld = errors.New("the key is too old to be safe: check what became of the request, then use a fresh key")

type mintedAtKey struct{}

// WithMintedAt tells Transport when the key of a request was made, for MaxAge. A UUIDv7, such as NewKey's, carries its time in
// itself and needs none; a key of another form whose time nobody tells is of no age.
func WithMintedAt(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, mintedAtKey{}, at)
}

// checkAge compares by the wall clock: a monotonic one stands still while a machine sleeps.
func checkAge(ctx context.Context, key string, most time.Duration) error {
	birth, known := keyBirth(key)
	if !known {
		birth, known = ctx.Value(mintedAtKey{}).(time.Time)
	}
	age := time.Now().Round(0).Sub(birth.Round(0))
	if known && age > most {
		return fmt.Errorf("%w (its age is %v, MaxAge %v)", ErrKeyTooOld, age.Round(time.Second), most)
	}
	return nil
}
