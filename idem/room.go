package idem

import (
	"context"
	"slices"
	"sync"
	"time"
)

// room is where callers of one key in one process wait for each other, so that a retry storm costs one connection. The first
// caller of a key leads and goes to the database; the others get its answer once it is committed, or one of them is woken to
// lead next.
type room struct {
	mu     sync.Mutex
	queues map[roomKey]*queue
}

type roomKey struct{ tenant, endpoint, id string }

// queue is the leader of one key and who waits for it.
type queue struct {
	leader  visitor
	began   time.Time
	waiting []*waiter
}

// visitor is who comes with a key.
type visitor struct {
	fingerprint Fingerprint
	leased      bool
	reads       bool // only reads the answer's body
}

type waiter struct {
	visitor
	wake  chan *handout // one message: the leader's answer, or nil: lead now
	woken bool          // no longer in the queue: the message is there, or on its way
}

// turn is a caller's right to go to the database.
type turn struct {
	room *room
	key  roomKey
	led  bool // false: it goes beside the queue
}

// enter waits for a turn. It returns a turn to be ended, or the leader's answer, or an error: ErrInFlight when wait
// ran out, with the age of the attempt under way, or the cause of ctx's end. In lease mode a caller with another fingerprint
// does not wait: the database has its answer already.
func (r *room) enter(ctx context.Context, key roomKey, v visitor, wait time.Duration) (*turn, *Response, time.Duration, error) {
	r.mu.Lock()
	ahead, taken := r.queues[key]
	if !taken {
		if r.queues == nil {
			r.queues = make(map[roomKey]*queue)
		}
		r.queues[key] = &queue{leader: v, began: time.Now()}
		r.mu.Unlock()
		return &turn{room: r, key: key, led: true}, nil, 0, nil
	}
	if v.leased && ahead.leader.leased && ahead.leader.fingerprint != v.fingerprint {
		r.mu.Unlock()
		return &turn{room: r, key: key}, nil, 0, nil
	}
	w := &waiter{visitor: v, wake: make(chan *handout, 1)}
	ahead.waiting = append(ahead.waiting, w)
	r.mu.Unlock()

	patient := time.NewTimer(max(wait, 0))
	defer patient.Stop()
	var err error
	select {
	case answer := <-w.wake:
		if answer == nil {
			return &turn{room: r, key: key, led: true}, nil, 0, nil
		}
		return nil, answer.take(v.reads), 0, nil
	case <-patient.C:
		err = ErrInFlight
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	age, answer, late := r.leave(key, w)
	switch {
	case !late:
		return nil, nil, age, err
	case answer != nil:
		return nil, answer.take(v.reads), 0, nil
	}
	(&turn{room: r, key: key, led: true}).end(nil) // woken while leaving: wake the next instead
	return nil, nil, age, err
}

// leave takes w out of the queue and says how old the attempt ahead of it is; late reports that w had been woken already, and
// answer with what.
func (r *room) leave(key roomKey, w *waiter) (age time.Duration, answer *handout, late bool) {
	r.mu.Lock()
	if w.woken {
		r.mu.Unlock()
		return 0, <-w.wake, true
	}
	defer r.mu.Unlock()
	ahead := r.queues[key]
	ahead.waiting = slices.DeleteFunc(ahead.waiting, func(other *waiter) bool { return other == w })
	return time.Since(ahead.began), nil, false
}

// end gives up the turn, once. answer, if there is one, is committed, and goes to every waiter with the leader's fingerprint. Of
// those that remain exactly one is woken to lead.
func (t *turn) end(answer *Response) {
	leader, answered := t.leaveQueue(answer != nil)
	if len(answered) == 0 {
		return
	}
	h := newHandout(answer, leader.reads, len(answered)) // not under the lock, which all keys of the process wait for
	for _, w := range answered {
		w.wake <- h
	}
}

// leaveQueue makes the next caller lead, and takes those out of the queue that the leader's answer is for, if it has one.
func (t *turn) leaveQueue(hasAnswer bool) (leader visitor, answered []*waiter) {
	t.room.mu.Lock()
	defer t.room.mu.Unlock()
	if !t.led {
		return leader, nil
	}
	t.led = false
	c := t.room.queues[t.key]
	leader = c.leader
	if hasAnswer {
		c.waiting = slices.DeleteFunc(c.waiting, func(w *waiter) bool {
			if w.fingerprint != leader.fingerprint {
				return false
			}
			w.woken = true
			answered = append(answered, w)
			return true
		})
	}
	if len(c.waiting) == 0 {
		delete(t.room.queues, t.key)
		return leader, answered
	}
	next := c.waiting[0]
	c.waiting = c.waiting[1:]
	c.leader, c.began = next.visitor, time.Now()
	next.woken = true
	next.wake <- nil
	return leader, answered
}

// heldKeys marks a context with the keys that its call holds, so that a nested call for one of them is told at once instead of
// waiting for itself.
type heldKeys struct {
	shared *shared
	key    roomKey
	outer  *heldKeys
}

type heldKeysContext struct{}

func withHeld(ctx context.Context, s *shared, key roomKey) context.Context {
	outer, _ := ctx.Value(heldKeysContext{}).(*heldKeys)
	return context.WithValue(ctx, heldKeysContext{}, &heldKeys{shared: s, key: key, outer: outer})
}

func isHeld(ctx context.Context, s *shared, key roomKey) bool {
	held, _ := ctx.Value(heldKeysContext{}).(*heldKeys)
	for ; held != nil; held = held.outer {
		if held.shared == s && held.key == key {
			return true
		}
	}
	return false
}
