package model

import "sync"

// point is where a process dies.
type point int

const (
	beforeSend   point = iota // a statement is not sent
	afterSend                 // it is sent, and the process is gone
	beforeAnswer              // it is answered, and nobody reads it
	beforeCall                // of the downstream
	inCall                    // the call lands later
	afterCall                 // it has landed, and its answer is lost
)

// fuse is a death to come.
type fuse struct {
	at    point
	trips int  // of the wire, until then
	late  bool // it does not burn before something is to be recorded

	actions int // that it has seen
}

// fuses are the deaths that a client has ahead of it, one after the other, each of another process.
type fuses struct {
	mu    sync.Mutex
	left  []*fuse
	burnt bool // the process is dying, and what still runs in it is not to die again
}

func (f *fuses) arm(next *fuse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = append(f.left, next)
}

// renew is for the next process.
func (f *fuses) renew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.burnt = false
}

// next is the fuse that may burn now. mu is held.
func (f *fuses) next() *fuse {
	if f.burnt || len(f.left) == 0 {
		return nil
	}
	return f.left[0]
}

// burn takes it. mu is held.
func (f *fuses) burn() {
	f.left = f.left[1:]
	f.burnt = true
}

// wait counts an action during which nobody died: a call of the downstream that does not come is not waited for for ever.
func (f *fuses) wait() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if next := f.next(); next != nil {
		if next.actions++; next.actions == patientActions {
			next.at, next.trips, next.late = beforeAnswer, 1, false
		}
	}
}

const patientActions = 12

// burns reports whether the process dies at this point, once.
func (f *fuses) burns(at point) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.next()
	if next == nil || next.at != at {
		return false
	}
	f.burn()
	return true
}

// light lets a late fuse burn from now on.
func (f *fuses) light() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if next := f.next(); next != nil {
		next.late = false
	}
}

// trip counts one message to the server, and says where the process dies with it.
func (f *fuses) trip() (at point, dies bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.next()
	if next == nil || next.at >= beforeCall || next.late {
		return 0, false
	}
	if next.trips--; next.trips > 0 {
		return 0, false
	}
	f.burn()
	return next.at, true
}
