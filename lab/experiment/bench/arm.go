package bench

import (
	"context"

	"github.com/google/uuid"
)

// arm is one way to do the work.
type arm struct {
	id      string // in flags and JSON
	name    string // in tables
	keys    kind
	ours    bool
	skipped string // why it cannot run; empty: it can
	pays    bool   // its first call of a key leaves a charge
	big     bool   // its answers are of 1 MiB
	call    call
	// finish gives a key the answer that call will find, where keys are finished ones.
	finish call
	// launch starts what runs beside the calls, and returns what ends it; nil: nothing does.
	launch func(context.Context) (end func() error, err error)
}

// call does the work of one key, and reports any answer but the right one as an error.
type call func(ctx context.Context, key string) error

// kind says which keys an arm is called with.
type kind int

const (
	fresh       kind = iota // each once, never seen before
	finished                // each once, and it has its answer
	hot                     // never seen before, each by as many callers as there are workers
	hotFinished             // one that has its answer
)

// some are n keys that were never seen before, of the form that clients make most.
func some(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = uuid.NewString()
	}
	return keys
}

// requests are the keys of n calls in the order in which they are made, of which so many are distinct.
func (k kind) requests(n, workers int, done []string) (keys []string, distinct int) {
	switch k {
	case fresh:
		return some(n), n
	case hot:
		distinct = n / workers
		for _, key := range some(distinct) {
			for range workers {
				keys = append(keys, key)
			}
		}
		return keys, distinct
	case hotFinished:
		keys = make([]string, n)
		for i := range keys {
			keys[i] = done[0]
		}
		return keys, 1
	}
	return done[:n], n
}
