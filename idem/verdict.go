package idem

import (
	"fmt"
	"time"

	"github.com/pgidem/pgidem/idem/internal/engine"
)

// States of a row as stored.
const (
	statusInFlight  = "in_flight"
	statusReleased  = "released"
	statusCommitted = "committed"
	statusFailed    = "failed"
)

func isFinished(status string) bool { return status == statusCommitted || status == statusFailed }

// Mine reports whether the row found was written by this call: held or finished under its claim id.
func (r *keyRow) Mine() bool {
	if r.absent || r.loaded == nil || r.loaded.ClaimID != r.claimID {
		return false
	}
	if r.leased && r.loaded.Status == statusInFlight {
		r.claimed = &claimedRow{Fence: r.loaded.Fence, Attempts: r.loaded.Attempts, Fingerprint: r.loaded.Fingerprint}
		r.inherited = r.loaded.Attempts > 1 // how it was taken is not known here
		return true
	}
	return isFinished(r.loaded.Status)
}

// Verdict is the decision table of a claim.
func (r *keyRow) Verdict() (engine.Verdict, error) {
	found := r.loaded
	switch {
	case r.claimed != nil:
		return engine.Claimed, nil
	case r.absent || found == nil:
		return engine.Gone, nil
	case isFinished(found.Status) && found.ExpiresIn <= 0, found.Status == statusReleased && !found.Leased:
		return engine.Claimable, nil
	}
	if !r.sameRequest() {
		return engine.Refused, ErrMismatch
	}
	switch {
	case isFinished(found.Status):
		return engine.Finished, nil
	case found.Status == statusReleased:
		return engine.Claimable, nil
	case found.Remaining > 0:
		r.retryAfter = min(found.Remaining, patience(found.Age))
		return engine.Refused, ErrInFlight
	case !r.leased || r.policy.Stale == StaleRefuse:
		return engine.Refused, ErrOutcomeUnknown
	}
	if left := r.policy.settle() + found.Remaining; left > 0 {
		r.retryAfter = left
		return engine.Refused, fmt.Errorf("%w: it is asked about once Settle has passed", ErrInFlight)
	}
	return engine.Claimable, nil
}

// sameRequest compares fingerprints. A caller's AnyRequest skips the comparison, a stored one does not.
func (r *keyRow) sameRequest() bool {
	if r.key.Fingerprint == AnyRequest {
		return true
	}
	stored := Fingerprint(r.loaded.Fingerprint)
	if stored == r.key.Fingerprint {
		return true
	}
	if stored != AnyRequest && stored.Version() != r.key.Fingerprint.Version() {
		r.version = stored.Version()
	}
	return false
}

// patience is how long a caller is asked to stay away: 1 s, doubled with the age of the attempt that it meets, at most 10 s.
func patience(age time.Duration) time.Duration {
	after := time.Second
	for after < age && after < 10*time.Second {
		after *= 2
	}
	return min(after, 10*time.Second)
}
