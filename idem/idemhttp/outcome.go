package idemhttp

import "net/http"

// Outcome is what becomes of a key by the status of its handler's answer. The answer itself goes to its own caller whatever it
// is.
type Outcome int

const (
	// Keep records the answer, and every retry gets it. From 400 on it counts as a refusal: atomic mode rolls the handler's rows
	// back and records the answer alone.
	Keep Outcome = iota
	// GiveBack says that nothing happened: a retry runs the handler again. Atomic mode rolls back. Lease mode gives the key back
	// unless a downstream key was handed out, for then something may have happened all the same.
	GiveBack
	// Unknown says that nobody knows what happened. Atomic mode rolls back, and with that nothing did. In lease mode Policy.Stale
	// applies to the next caller, unless the handler released the lease or called Transient.
	Unknown
)

// KeepDefinitive keeps 2xx, 3xx and 4xx, and gives back the 4xx that speak of the moment and not of the request: 401, 403, 408,
// 409, 423, 425 and 429. After 1xx and 5xx the outcome is unknown.
func KeepDefinitive(status int) Outcome {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return GiveBack
	}
	if 200 <= status && status <= 499 {
		return Keep
	}
	return Unknown
}

// KeepAll keeps every answer, 500s too, as Stripe does: a retry of a failed request gets the same failure until the key has
// expired, and the client needs a fresh key to try again.
func KeepAll(int) Outcome { return Keep }
