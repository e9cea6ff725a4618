package idem

import (
	"context"
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
