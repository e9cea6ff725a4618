package processor

import (
	"context"
	"slices"
	"sync"
)

// name tells calls from each other: those with one name are of one payment.
type name struct {
	kind kind
	key  string
	note string // the reference, where there is no key
}

// call is one request that has passed Unavailable.
type call struct {
	name
	request   Request
	behaviour Behaviour
	number    int // of the key, from 1
}

// flight is a call that has arrived and not landed.
type flight struct {
	call
	landed chan struct{} // closed when it has, or never will
}

// arrivals is what has arrived and not landed, and how often each name has called. It is lost with the process, and so is what
// has not landed then: it never will.
type arrivals struct {
	mu       sync.Mutex
	flights  map[name][]*flight
	owners   map[name]*flight // of keys that are refused: the one flight that may carry out its call
	arrived  map[name]int
	accepted map[name]int
}

// arrive counts a call, from 1.
func (a *arrivals) arrive(n name) int { return a.count(&a.arrived, n) }

// accept counts a call that Unavailable lets pass, from 1.
func (a *arrivals) accept(n name) int { return a.count(&a.accepted, n) }

func (a *arrivals) count(calls *map[name]int, n name) int {
	if n.key == "" && n.note == "" {
		return 1
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if *calls == nil {
		*calls = make(map[name]int)
	}
	(*calls)[n]++
	return (*calls)[n]
}

// enter makes c a flight, until leave. If it is to be alone it becomes the owner of its key, unless rival is.
func (a *arrivals) enter(c call, alone bool) (f, rival *flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.flights == nil {
		a.flights, a.owners = make(map[name][]*flight), make(map[name]*flight)
	}
	f = &flight{call: c, landed: make(chan struct{})}
	a.flights[c.name] = append(a.flights[c.name], f)
	if alone {
		rival = a.own(f)
	}
	return f, rival
}

// again is for a flight whose rival has left.
func (a *arrivals) again(f *flight) (rival *flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.own(f)
}

func (a *arrivals) own(f *flight) (rival *flight) {
	if owner := a.owners[f.name]; owner != nil {
		return owner
	}
	a.owners[f.name] = f
	return nil
}

func (a *arrivals) leave(f *flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := slices.DeleteFunc(a.flights[f.name], func(other *flight) bool { return other == f })
	if a.flights[f.name] = rest; len(rest) == 0 {
		delete(a.flights, f.name)
	}
	if a.owners[f.name] == f {
		delete(a.owners, f.name)
	}
	close(f.landed)
}

// pending reports whether a call under n has not landed.
func (a *arrivals) pending(n name) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.flights[n]) > 0
}

// all is every flight.
func (a *arrivals) all() []*flight {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []*flight
	for _, there := range a.flights {
		all = append(all, there...)
	}
	return all
}

// wait returns when everything that has arrived so far has landed.
func (a *arrivals) wait(ctx context.Context) error {
	for _, f := range a.all() {
		select {
		case <-f.landed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// forget makes each name's next call its first.
func (a *arrivals) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.arrived)
	clear(a.accepted)
}
