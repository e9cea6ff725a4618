// Package worker runs what works in the background: pass after pass, at once while there is more to do, with patience after an
// error.
package worker

import (
	"context"
	"math/rand/v2"
	"time"
)

// Loop runs passes in the caller's goroutine.
type Loop struct {
	// Every is how long it rests after a pass that found everything done; after one that did not it goes on at once. Give or take
	// a tenth, so that many processes do not come at once.
	Every time.Duration
	// Pass does one batch. more reports that there may be more to do.
	Pass func(ctx context.Context) (more bool, err error)
	// Failed is told of a pass's error, and how long the loop rests: Every doubled with each error in a row, at most ten minutes.
	// nil: nobody.
	Failed func(ctx context.Context, err error, rest time.Duration)
}

const longestRest = 10 * time.Minute

// Run returns nil when ctx has ended and the pass under way has, too.
func (l Loop) Run(ctx context.Context) error {
	failures := 0
	for {
		more, err := l.Pass(ctx)
		rest := l.Every
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			rest = backoff(l.Every, failures, max(l.Every, longestRest))
			failures++
			if l.Failed != nil {
				l.Failed(ctx, err, rest)
			}
		case more:
			failures = 0
			continue
		default:
			failures = 0
		}
		timer := time.NewTimer(jittered(rest))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// backoff is first doubled n times, at most longest.
func backoff(first time.Duration, n int, longest time.Duration) time.Duration {
	d := first
	for ; n > 0 && d < longest; n-- {
		d *= 2
	}
	return min(d, longest)
}

// jittered is d give or take a tenth.
func jittered(d time.Duration) time.Duration {
	if d < 10 {
		return d
	}
	return d - d/10 + rand.N(d/5)
}
