package idem

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pgidem/pgidem/gen"
	"github.com/pgidem/pgidem/idem/internal/engine"
)

// Lease is the right to run the work of one key, for Policy.Lease from the claim or the last Extend. It holds no connection.
// Every write names its fence, so a holder that has lost its key changes nothing. Safe for concurrent use.
//
// What is called outside, with no downstream key, is invisible to Release: only the caller knows that it happened.
type Lease struct {
	op    *operation
	steps steps

	mu         sync.Mutex
	state      leaseState
	until      time.Time       // by this process's monotonic clock, from before the statement that extended it was sent
	downstream map[string]bool // names that DownstreamKey was asked for
}

// newLease is the lease of a claim that was sent at a moment.
func newLease(o *operation, sent time.Time) *Lease {
	return &Lease{op: o, until: sent.Add(o.policy.Lease)}
}

type leaseState int

const (
	leaseOpen leaseState = iota
	leaseCompleting
	leaseCompleted
	leaseCompletedTx // in a transaction of the user's, which may yet roll back
	leaseReleased
	leaseAbandoned
	leaseLost       // found to be another's when it was to be given back
	leaseHandedOver // by Drain: nothing new starts, but an answer that comes all the same is recorded
)

func (l *Lease) row() *keyRow { return l.op.row }

// Key is the key as Claim or Hold was given it.
func (l *Lease) Key() Key { return l.op.key }

// Fence is higher than that of every earlier holder of the key, whatever became of them.
func (l *Lease) Fence() int64 { return l.row().claimed.Fence }

// Attempt counts the claims of this life of the key, from 1.
func (l *Lease) Attempt() int { return int(l.row().claimed.Attempts) }

// Request is what Key.Request held; nil where it held nothing.
func (l *Lease) Request() []byte { return bytesOrNull(l.op.key.Request) }

// DownstreamKey is the idempotency key to send with the call named step: the same for every attempt at this request, over
// takeover and failover, and another one for another request. 36 characters in UUID form (RFC 9562, version 8); dashes may be
// dropped. Asking for one means that the call may be made: Release leaves the key unknown from then on.
func (l *Lease) DownstreamKey(step string) string {
	l.mu.Lock()
	if l.downstream == nil {
		l.downstream = make(map[string]bool)
	}
	l.downstream[step] = true
	l.mu.Unlock()
	return l.downstreamKey(step)
}

func (l *Lease) downstreamKey(step string) string {
	return downstreamKey(l.row().key, l.row().claimed.Fingerprint, step)
}

// Extend moves the end of the lease to Policy.Lease from now; a lapsed lease that nobody took is extended too. ErrLeaseLost:
// the key is another's, or finished, or this lease was given back or abandoned. Hold does this by itself.
func (l *Lease) Extend(ctx context.Context) error {
	if s := l.current(); s == leaseReleased || s == leaseAbandoned || s == leaseHandedOver {
		return l.report(ctx, "extend", fmt.Errorf("%w: it has ended", ErrLeaseLost))
	}
	return l.report(ctx, "extend", l.extend(l.writer(ctx)))
}

// extend sends the extension by way of write.
func (l *Lease) extend(write writer) error {
	sent := time.Now()
	changed, err := l.change(write, func(ctx context.Context, db gen.DBTX) (int64, error) {
		return q.LeaseExtend(ctx, db, gen.LeaseExtendParams{
			Lease: l.grant(), TenantID: l.row().key.Tenant, Endpoint: l.row().key.Endpoint, Key: l.row().key.ID,
			Fence: l.Fence(), ClaimID: l.row().claimID,
		})
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case !changed:
		return ErrLeaseLost
	}
	l.extended(sent)
	return nil
}

// enter moves the lease to a state from one of those that allow it.
func (l *Lease) enter(to leaseState, from ...leaseState) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range from {
		if l.state == s {
			l.state = to
			return nil
		}
	}
	switch l.state {
	case leaseCompleted:
		return errors.Join(ErrLeaseLost, errors.New("it was completed"))
	case leaseReleased:
		return errors.Join(ErrLeaseLost, errors.New("it was released"))
	case leaseAbandoned:
		return errors.Join(ErrLeaseLost, errors.New("it was abandoned"))
	case leaseLost:
		return ErrLeaseLost
	case leaseHandedOver:
		return errors.Join(ErrLeaseLost, ErrDraining)
	}
	return errors.New("completing the lease was tried, and may have succeeded")
}

func (l *Lease) set(s leaseState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
}

func (l *Lease) current() leaseState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// handedOut counts the downstream keys that were asked for.
func (l *Lease) handedOut() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.downstream)
}

// bound is how long a holder's statement waits for others: a third of the lease, so that a lease never lapses in a queue.
func (l *Lease) bound() engine.Bound {
	return engine.Bound{Statement: min(l.op.policy.Lease/3, 1500*time.Millisecond)}
}

// writer sends a statement of this lease in a transaction of its own.
type writer func(engine.Adder) error

func (l *Lease) writer(ctx context.Context) writer {
	return func(add engine.Adder) error { return l.op.shared.engine.Write(ctx, l.bound(), add) }
}

// change sends conditional updates in one transaction and reports whether the last one fitted.
func (l *Lease) change(write writer, updates ...func(context.Context, gen.DBTX) (int64, error)) (fitted bool, err error) {
	err = write(func(t *engine.Trip) (keep func()) {
		var rows int64
		for _, update := range updates {
			t.Add(func(ctx context.Context, db gen.DBTX) (err error) {
				rows, err = update(ctx, db)
				return err
			})
		}
		return func() { fitted = rows > 0 }
	})
	return fitted, err
}

// load reads the key as it stands.
func (l *Lease) load(ctx context.Context) (row *keyRow, err error) {
	err = l.op.shared.engine.Write(ctx, l.bound(), func(t *engine.Trip) (keep func()) {
		found := l.row().Fresh().(*keyRow)
		found.Load(t)
		return func() { row = found }
	})
	return row, err
}

func (l *Lease) report(ctx context.Context, name string, err error) error {
	return l.op.report(ctx, name, err)
}
