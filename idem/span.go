package idem

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A lease's span is measured by this process's monotonic clock from before the statement that granted it was sent, so it never
// looks longer here than it is in the database.

var errLapsed = fmt.Errorf("%w: it may have lapsed", ErrLeaseLost)

// extended notes that the database granted a lease by a statement that was sent at a moment.
func (l *Lease) extended(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := sent.Add(l.op.policy.Lease); until.After(l.until) {
		l.until = until
	}
}

// grant is for how long a statement of the holder's extends the lease: not at all where it is left to the next holder. What ends
// after that is recorded all the same, and must not hold the key.
func (l *Lease) grant() time.Duration {
	if s := l.current(); s == leaseHandedOver || s == leaseAbandoned {
		return 0
	}
	return l.op.policy.Lease
}

// confirm extends a lease that may have lapsed before its holder has begun, because the answer to the claim was late: another may
// have asked the downstream meanwhile, been told of nothing, and begun.
func (l *Lease) confirm(ctx context.Context) error {
	if l.left() > 0 {
		return nil
	}
	err := l.extend(l.writer(ctx))
	if errors.Is(err, ErrLeaseLost) {
		return fmt.Errorf("%w: the claim was answered too late, and another has the key", ErrInFlight)
	}
	return err
}

func (l *Lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until)
}

// whileHeld is ctx until the lease may have lapsed; what extends the lease extends it too. Call stop.
func (l *Lease) whileHeld(ctx context.Context) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for left := l.left(); left > 0; left = l.left() {
			timer := time.NewTimer(left)
			select {
			case <-timer.C:
			case <-held.Done():
				timer.Stop()
				return
			}
		}
		cancel(errLapsed)
	}()
	return held, func() {
		cancel(nil)
		<-ended
	}
}
