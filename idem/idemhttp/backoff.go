package idemhttp

import (
	"math/rand/v2"
	"time"
)

// backoff draws the wait after the given number of tries evenly below a bound (full jitter), so that clients that failed
// together do not come back together. The bound is least after the first try, doubles with each, and stops at most.
func backoff(tries int, least, most time.Duration) time.Duration {
	bound := least
	for range tries - 1 {
		if bound >= most-bound {
			bound = max(least, most)
			break
		}
		bound *= 2
	}
	return rand.N(bound)
}
