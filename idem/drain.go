package idem

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// running is what a Store has under way.
type running struct {
	mu       sync.Mutex
	draining bool
	calls    int
	leases   map[*Lease]func(context.Context) error // whose work or resolver runs, and what ends it
	idle     chan struct{}                          // closed when draining and no call is left
}

// enter counts a call in, unless the Store is being drained.
func (r *running) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return fmt.Errorf("%w: %w", ErrUnavailable, ErrDraining)
	}
	r.calls++
	return nil
}

// isDraining reports whether a key that was just taken is to be given back.
func (r *running) isDraining() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining
}

func (r *running) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls--
	if r.draining && r.calls == 0 {
		close(r.idle)
	}
}

// hold notes a lease whose work is to run, and what ends it, unless the Store is being drained.
func (r *running) hold(l *Lease, end func(context.Context) error) (done func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ErrDraining)
	}
	if r.leases == nil {
		r.leases = make(map[*Lease]func(context.Context) error)
	}
	r.leases[l] = end
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.leases, l)
	}, nil
}

// drain begins to drain; idle is closed when no call is left.
func (r *running) drain() (idle <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.draining {
		r.draining = true
		r.idle = make(chan struct{})
		if r.calls == 0 {
			close(r.idle)
		}
	}
	return r.idle
}

// give hands out the leases that are still held.
func (r *running) give() map[*Lease]func(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := r.leases
	r.leases = nil
	return held
}

// Drain is for a process that is asked to go (SIGTERM in a deploy, the main cause of abandoned keys in article 004). From now on
// no key is taken, by this Store and all that share its connections (With): calls get ErrUnavailable, and their clients come back
// to another process. Work that runs may end until ctx does; then its context is cancelled and the leases of Hold are abandoned,
// so that the next process goes on at once and not after a lease; if it has an answer all the same before anybody took the key,
// that is recorded. nil: everything ended by itself. A Store cannot be used again.
//
// Work of atomic mode that outlives ctx rolls back when the process ends. Keys from Claim are their caller's to abandon.
func (s *Store) Drain(ctx context.Context) error {
	shared := s.common()
	idle := shared.running.drain()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	var errs []error
	left := shared.running.give()
	for _, end := range left {
		errs = append(errs, end(ctx))
	}
	return errors.Join(append([]error{fmt.Errorf("idem: drain: work on %d keys did not end in time; they are left to the next process: %w",
		len(left), context.Cause(ctx))}, errs...)...)
}
