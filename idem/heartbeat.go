package idem

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pgidem/pgidem/idem/internal/engine"
)

// heartbeatLock bounds how long one heartbeat waits for a row, because all leases of a process share one connection: a
// CompleteTx left open must not stop the others.
const heartbeatLock = 100 * time.Millisecond

// keepAlive extends the lease three times in its length, until stop is called; stop returns when the last heartbeat has ended.
// lost is called once, when the database says that the key is another's. A heartbeat that fails says nothing of the kind: the
// work goes on, and the next one tries again.
func (l *Lease) keepAlive(ctx context.Context, lost context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beat := time.NewTicker(max(l.op.policy.Lease/3, time.Millisecond))
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
			err := l.beat(ctx)
			if errors.Is(err, ErrUnavailable) {
				err = l.beat(ctx) // on a new connection, if it was that
			}
			if errors.Is(err, ErrLeaseLost) && l.isGone(ctx) {
				lost(ErrLeaseLost)
				return
			}
		}
	}()
	var once sync.Once
	return func() {
		once.Do(cancel)
		<-ended
	}
}

// beat extends the lease once, on the connection kept for heartbeats.
func (l *Lease) beat(ctx context.Context) error {
	if s := l.current(); s == leaseCompleted || s == leaseReleased || s == leaseAbandoned {
		return nil
	}
	alone := func() error {
		bound := engine.Bound{Statement: l.op.policy.Lease / 3, Lock: heartbeatLock}
		return l.extend(func(add engine.Adder) error {
			return l.op.shared.heartbeat.WriteAside(ctx, l.op.store.Pool, bound, add)
		})
	}
	meet := l.op.shared.meet
	if meet == nil {
		return alone()
	}
	b := &heartbeat{lease: l}
	err := meet.beats.Do(ctx, b, func(all []*heartbeat) {
		if len(all) == 1 {
			b.err, b.done = alone(), true
			return
		}
		l.beatTogether(ctx, all)
	})
	switch {
	case err != nil:
		return err
	case b.done:
		return b.err
	}
	return alone()
}

// isGone looks why an extension did not fit: a key that this lease finished or gave back itself is not lost, nor is one that a
// resolver asks about, for its holder can still complete.
func (l *Lease) isGone(ctx context.Context) bool {
	row, err := l.load(ctx)
	if err != nil {
		return false
	}
	return row.loaded == nil || row.loaded.Fence != l.Fence() || row.loaded.ClaimID != row.claimID && row.loaded.Status != statusInFlight
}
