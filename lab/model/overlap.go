package model

import (
	"context"
	"slices"
	"time"
)

// call is one call of a client, from its start until it returned or its client died.
type call struct {
	key        string
	began, end time.Duration
}

// awaited is somebody who waits for calls to begin.
type awaited struct {
	calls int
	wake  chan struct{}
}

// Call records that a client begins a call on a key, and wakes who waited for that. Call ended when the client has its answer or has
// died.
func (h *History) Call(key string) (ended func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.calls)
	h.calls = append(h.calls, call{key: key, began: h.now(), end: -1})
	h.waiting = slices.DeleteFunc(h.waiting, func(w awaited) bool {
		if w.calls > len(h.calls) {
			return false
		}
		close(w.wake)
		return true
	})
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.calls[n].end < 0 {
			h.calls[n].end = h.now()
		}
	}
}

// Await returns when n more calls have begun, or ctx has ended: a client that is slow by what the others do meanwhile.
func (h *History) Await(ctx context.Context, n int) {
	h.mu.Lock()
	wake := make(chan struct{})
	h.waiting = append(h.waiting, awaited{calls: len(h.calls) + n, wake: wake})
	h.mu.Unlock()
	select {
	case <-wake:
	case <-ctx.Done():
	}
}

// Calls counts them, and those among them during which another call on the same key ran.
func (h *History) Calls() (all, overlapping int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, a := range h.calls {
		for j, b := range h.calls {
			if i != j && a.key == b.key && a.began < b.end && b.began < a.end {
				overlapping++
				break
			}
		}
	}
	return len(h.calls), overlapping
}
