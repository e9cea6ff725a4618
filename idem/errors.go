package idem

import (
	"errors"
	"fmt"
	"time"

	"github.com/pgidem/pgidem/idem/internal/engine"
)

// Kinds of failure, for errors.Is. Errors of fn come back unchanged; the Store's own are a *KeyError around one of these.
var (
	// ErrInFlight: another call holds the key. Come back with the same key after RetryAfter.
	ErrInFlight = engine.ErrInFlight
	// ErrMismatch: the key was used for another request. Never retry it; a new request needs a new key.
	ErrMismatch = errors.New("the key was used for another request")
	// ErrContended: the key's row changed or vanished at every one of three looks. Nothing ran; come back with the same key.
	ErrContended = engine.ErrContended
	// ErrOutcomeUnknown: an earlier holder is gone and its effect may have happened. An operator or the downstream decides.
	ErrOutcomeUnknown = errors.New("an earlier attempt may have taken effect and its outcome is unknown")
	// ErrLeaseLost: the lease has ended: the key is finished, given back, or another's. Nothing was changed by the call.
	ErrLeaseLost = engine.ErrLeaseLost
	// ErrNotFound: Lookup found no such key.
	ErrNotFound = errors.New("no such key")
	// ErrUnavailable: the database could not say who owns the key, so nothing ran. Come back with the same key.
	ErrUnavailable = engine.ErrUnavailable
	// ErrCommitUnknown: the effect ran, and whether its record stands could not be read back. Only the same key tells. In DoBatch
	// the effect may also be on its way, or never happen.
	ErrCommitUnknown = engine.ErrCommitUnknown
	// ErrInvalidKey: a part of the Key is missing, too long or not text.
	ErrInvalidKey = errors.New("invalid key")
	// ErrStepOrder: the work's steps are not those that were recorded before, by name and order. Nothing new was started.
	ErrStepOrder = errors.New("the steps are not those recorded before")
	// ErrInvalidPolicy: the Store has no Pool, or its Policy contradicts itself. No call can succeed.
	ErrInvalidPolicy = errors.New("invalid policy")
	// ErrDraining comes with ErrUnavailable: this process is going down (Store.Drain), and another one will take the key.
	ErrDraining = errors.New("the Store is being drained: this process is going down")
	// ErrNoAnswer: no statement of a batch recorded an answer (DoBatch). All of it was rolled back, and the key is free.
	ErrNoAnswer = engine.ErrNoAnswer
	// ErrTxOwned: fn tried to end the transaction that it was given. All of it was rolled back.
	ErrTxOwned = engine.ErrTxOwned
)

// KeyError says which call on which key failed. Its text does not hold the key: keys are secrets of their clients.
type KeyError struct {
	Op         string        // do, dotx, dobatch, claim, hold, lookup, step, extend, complete, release, abandon
	Key        Key           // as the caller gave it
	RetryAfter time.Duration // when coming back helps; 0: unknown, or never
	// FingerprintVersion is the version of the stored fingerprint, where ErrMismatch may be due to its age alone: compute
	// that version (FingerprintAt, FingerprintJSONAt) and ask once more. 0: the versions are the same, and the requests are not.
	FingerprintVersion byte
	Err                error
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("idem: %s %s: %v", e.Op, e.Key.Endpoint, e.Err)
}

func (e *KeyError) Unwrap() error { return e.Err }

// RetryAfter reports when to come back with the same key, and whether coming back helps.
func RetryAfter(err error) (time.Duration, bool) {
	var k *KeyError
	if errors.As(err, &k) && k.RetryAfter > 0 {
		return k.RetryAfter, true
	}
	return 0, false
}

// Transient marks an error of fn in Hold as one before any effect: nothing happened, so the key is given back at once instead
// of being left unknown. nil stays nil. The mark reaches through wrapping; the caller of Hold gets the error as fn returned it.
func Transient(err error) error {
	if err == nil {
		return nil
	}
	return &transientError{err}
}

type transientError struct{ error }

func (e *transientError) Unwrap() error { return e.error }

func isTransient(err error) bool {
	var t *transientError
	return errors.As(err, &t)
}
