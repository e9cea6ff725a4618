package idem

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/worker"
)

// Completer finishes keys whose holder is gone and whose client may never come back: those stored with a handler's name
// (Policy.Handler). It runs the work again, from its recorded steps and with the stored request (Lease.Request), as the next
// caller would, under the Store's policy: StaleRerun takes the key over, StaleResolve asks first. Store and Handlers are required.
//
// Any number of Completers may run; a key is one's at a time. A key that was tried Attempts times is parked: it stays unknown, is
// counted, and waits for an operator or a client.
type Completer struct {
	Store    *Store          // with the policy of the keys' route; StaleRefuse is refused, for it leaves every key to an operator
	Handlers map[string]Work // by Policy.Handler
	Every    time.Duration   // between two looks that found nothing. 0: 10 s
	Batch    int             // keys a look at most. 0: 100
	Attempts int             // claims of a key, its first one counted, after which it is parked. 0: 10
	Backoff  time.Duration   // how long a key rests after its first attempt, doubled with each, at most an hour. 0: 10 s
	Logger   *slog.Logger    // told of work that fails and of keys that are parked. nil: nobody
}

// CompleterStats is what one pass did.
type CompleterStats struct {
	Completed int   `json:"completed"` // keys that have an answer now
	Pending   int   `json:"pending"`   // still unknown: not decided downstream, or the work failed
	Busy      int   `json:"busy"`      // taken by somebody else meanwhile
	Failed    int   `json:"failed"`    // of those pending: the work returned an error
	Parked    int64 `json:"parked"`    // tried too often, waiting for an operator
}

// Run looks for keys until ctx ends, and returns nil then. Work that is under way is finished first, which its own context, cut
// off from ctx, may delay: stop the process with Store.Drain.
func (c *Completer) Run(ctx context.Context) error {
	every := c.Every
	defaultTo(&every, 10*time.Second)
	parked := int64(0)
	return worker.Loop{
		Every: every,
		Pass: func(ctx context.Context) (bool, error) {
			stats, err := c.Complete(ctx)
			if c.Logger != nil && stats.Parked > parked {
				c.Logger.WarnContext(ctx, "idem: keys are parked: they were tried too often and wait for an operator", "parked", stats.Parked)
			}
			parked = stats.Parked
			return stats.Completed+stats.Pending+stats.Busy >= c.batch(), err
		},
		Failed: func(ctx context.Context, err error, rest time.Duration) {
			if c.Logger != nil {
				c.Logger.ErrorContext(ctx, "idem: looking for keys to complete failed", "error", err, "again_in", rest)
			}
		},
	}.Run(ctx)
}

// Complete makes one pass: the keys that are due, one after the other, in the caller's goroutine.
func (c *Completer) Complete(ctx context.Context) (stats CompleterStats, err error) {
	policy, err := c.check()
	if err != nil {
		return stats, fmt.Errorf("idem: completer: %w", err)
	}
	names := slices.Sorted(maps.Keys(c.Handlers))
	due, err := q.KeyStale(ctx, c.Store.Pool, gen.KeyStaleParams{
		Handlers: names, Attempts: int32(c.attempts()), Settle: policy.settle(), Batch: int32(c.batch()),
		Backoff: c.backoff(), Longest: max(time.Hour, c.backoff()), Jitter: 0.5 + rand.Float64(),
	})
	if err != nil {
		return stats, fmt.Errorf("idem: completer: %w", err)
	}
	for _, row := range due {
		if ctx.Err() != nil {
			return stats, context.Cause(ctx)
		}
		err := c.finish(ctx, policy, row)
		if own, ok := err.(*KeyError); ok && own.Op == "hold" && errors.Is(err, ErrUnavailable) {
			return stats, fmt.Errorf("idem: completer: %w", err) // it was not claimed, nor would the next be
		}
		c.count(ctx, &stats, row, err)
	}
	stats.Parked, err = q.KeyParked(ctx, c.Store.Pool, gen.KeyParkedParams{Handlers: names, Attempts: int32(c.attempts())})
	if err != nil {
		return stats, fmt.Errorf("idem: completer: %w", err)
	}
	return stats, nil
}

// finish runs the work of one key.
func (c *Completer) finish(ctx context.Context, policy Policy, row gen.KeyStaleRow) error {
	policy.Wait, policy.Scope, policy.Handler = -1, ScopeEndpoint, row.Handler // the row's key is as stored
	_, err := c.Store.With(policy).Hold(ctx, Key{
		Tenant: row.TenantID, Endpoint: row.Endpoint, ID: row.Key,
		Fingerprint: Fingerprint(row.Fingerprint), Request: string(row.Request),
	}, c.Handlers[row.Handler])
	return err
}

func (c *Completer) count(ctx context.Context, stats *CompleterStats, row gen.KeyStaleRow, err error) {
	switch {
	case err == nil:
		stats.Completed++
		return
	case errors.Is(err, ErrInFlight), errors.Is(err, ErrContended), errors.Is(err, ErrMismatch): // somebody has it, or it is new
		stats.Busy++
		return
	case !errors.Is(err, ErrOutcomeUnknown):
		stats.Failed++
	}
	stats.Pending++
	if c.Logger != nil {
		c.Logger.WarnContext(ctx, "idem: a key could not be completed", "tenant", row.TenantID, "endpoint", row.Endpoint,
			"handler", row.Handler, "attempts", row.Attempts+1, "error", err)
	}
}

func (c *Completer) check() (Policy, error) {
	switch {
	case c.Store == nil || c.Store.Pool == nil:
		return Policy{}, errors.New("the Completer has no Store with a Pool")
	case len(c.Handlers) == 0:
		return Policy{}, errors.New("the Completer has no Handlers")
	}
	policy, err := c.Store.Policy.withDefaults()
	if err == nil && policy.Stale == StaleRefuse {
		err = errors.New("the Store's policy is StaleRefuse, which leaves every abandoned key to an operator")
	}
	return policy, err
}

func (c *Completer) batch() int {
	n := c.Batch
	defaultTo(&n, 100)
	return min(max(n, 1), 10_000)
}

func (c *Completer) attempts() int {
	n := c.Attempts
	defaultTo(&n, 10)
	return max(n, 1)
}

func (c *Completer) backoff() time.Duration {
	d := c.Backoff
	defaultTo(&d, 10*time.Second)
	return d
}
