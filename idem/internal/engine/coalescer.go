package engine

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// slowFlight is how long a flight may take before it no longer keeps others on the ground: a lone claim may wait for a rival
	// as long as its caller's Wait.
	slowFlight = 25 * time.Millisecond
	// seats bounds one flight, and so the size of its statement.
	seats = 128
)

// Coalescer lets calls of one process that come at one moment travel in one statement. Whoever finds fewer than Flights flights
// under way leads one: at once, with all who have come while the others were under way. So a lone caller travels alone and
// without a timer, callers never wait for company, and no goroutine is needed. The zero value is ready.
type Coalescer[T any] struct {
	Flights int // under way at most, the slow ones excepted; 0: 1

	mu      sync.Mutex
	flying  []*flight[T]
	waiting []*seat[T]
	slow    *time.Timer // for those who wait
}

// flight is one statement: its leader's item first.
type flight[T any] struct {
	items []T
	seats []*seat[T] // of everybody but the leader
	began time.Time
}

type seat[T any] struct {
	item  T
	taken bool            // on board
	wake  chan *flight[T] // one message: a flight to lead, or nil: item has travelled
}

// Do has item sent by send, in this goroutine or in another's, and returns nil when it was, or why ctx ended before: then it never
// will be. Who is on board stays until the flight has landed, so nobody touches an item that its owner has left. Under send's hands
// items are several callers', the leader's first; what became of each it writes into the item itself, which must read as undecided
// where it wrote nothing. send must end in bounded time, and not by its leader's cancellation.
func (c *Coalescer[T]) Do(ctx context.Context, item T, send func(items []T)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s := &seat[T]{item: item}
	f := c.board(s)
	if f == nil {
		var err error
		if f, err = c.wait(ctx, s); f == nil {
			return err
		}
	}
	defer c.land(f)
	send(f.items)
	return nil
}

// board returns a flight for s to lead, or makes it wait.
func (c *Coalescer[T]) board(s *seat[T]) *flight[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy() {
		return c.takeOff(s)
	}
	s.wake = make(chan *flight[T], 1)
	if c.waiting = append(c.waiting, s); len(c.waiting) == 1 {
		c.alarm()
	}
	return nil
}

// busy reports whether as many flights are under way as may be.
func (c *Coalescer[T]) busy() bool {
	fast := 0
	for _, f := range c.flying {
		if time.Since(f.began) < slowFlight {
			fast++
		}
	}
	return fast >= max(c.Flights, 1)
}

// takeOff starts a flight that leader leads, with those who wait.
func (c *Coalescer[T]) takeOff(leader *seat[T]) *flight[T] {
	n := min(len(c.waiting), seats-1)
	f := &flight[T]{items: make([]T, 0, n+1), seats: slices.Clone(c.waiting[:n]), began: time.Now()}
	c.waiting = slices.Delete(c.waiting, 0, n)
	switch {
	case len(c.waiting) > 0:
		c.alarm()
	case c.slow != nil:
		c.slow.Stop()
	}
	f.items = append(f.items, leader.item)
	leader.taken = true
	for _, s := range f.seats {
		f.items = append(f.items, s.item)
		s.taken = true
	}
	c.flying = append(c.flying, f)
	return f
}

// wait returns when s has travelled (nil, nil), or a flight for it to lead, or why ctx ended.
func (c *Coalescer[T]) wait(ctx context.Context, s *seat[T]) (*flight[T], error) {
	select {
	case f := <-s.wake:
		return f, nil
	case <-ctx.Done():
		if c.leave(s) {
			return nil, context.Cause(ctx)
		}
		return <-s.wake, nil
	}
}

// alarm makes those who begin to wait leave after slowFlight, whatever is under way then.
func (c *Coalescer[T]) alarm() {
	if c.slow == nil {
		c.slow = time.AfterFunc(slowFlight, func() { c.next(func() bool { return true }) })
		return
	}
	c.slow.Reset(slowFlight)
}

// next lets the first of those who wait lead a flight, if it may be.
func (c *Coalescer[T]) next(may func() bool) {
	c.mu.Lock()
	if len(c.waiting) == 0 || !may() {
		c.mu.Unlock()
		return
	}
	leader := c.waiting[0]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	f := c.takeOff(leader)
	c.mu.Unlock()
	leader.wake <- f
}

// leave makes s wait no longer, and reports whether it was still waiting: who is on board must stay.
func (c *Coalescer[T]) leave(s *seat[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other *seat[T]) bool { return other == s })
	return !s.taken
}

// land ends f, wakes its passengers, and lets the first of those who wait lead the next.
func (c *Coalescer[T]) land(f *flight[T]) {
	c.mu.Lock()
	c.flying = slices.DeleteFunc(c.flying, func(other *flight[T]) bool { return other == f })
	c.mu.Unlock()
	c.next(func() bool { return !c.busy() })
	for _, s := range f.seats {
		s.wake <- nil
	}
}
