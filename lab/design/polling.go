package design

import (
	"context"
	"time"
)

// Polling is how a caller whose key is another's waits for the answer. The zero value looks once.
type Polling struct {
	Every time.Duration
	Times int // how often it looks before it gives up
}

// ArticlePolling is article 003's: five seconds, and then a 409.
var ArticlePolling = Polling{Every: 25 * time.Millisecond, Times: 200}

// Patience is how long the caller waits before it is told that the key is in flight.
func (p Polling) Patience() time.Duration { return p.Every * time.Duration(p.Times) }

// until looks until the key is no longer in flight, or often enough.
func (p Polling) until(ctx context.Context, look func() (Outcome, error)) (Outcome, error) {
	for looked := 1; ; looked++ {
		o, err := look()
		if err != nil || o.Kind != InFlight || looked >= p.Times {
			return o, err
		}
		if err := wait(ctx, p.Every); err != nil {
			return Outcome{}, err
		}
	}
}
