package idemhttp_test

import (
	"net/http"
	"sync"
	"time"
)

// gate is where one goroutine waits for another's word. The end of the test opens it too, so that no failure leaves a handler
// behind that a server waits for.
type gate struct {
	passed chan struct{}
	once   sync.Once
}

func (s *shop) newGate() *gate {
	g := &gate{passed: make(chan struct{})}
	s.gates = append(s.gates, g)
	return g
}

// open lets everybody through, now and later. Opening an open gate does nothing.
func (g *gate) open() { g.once.Do(func() { close(g.passed) }) }

// wait is for handlers.
func (g *gate) wait() { <-g.passed }

// openGates is for what waits at the end of the test.
func (s *shop) openGates() {
	for _, g := range s.gates {
		g.open()
	}
}

// await is for the test: it fails if the gate is not opened within 20 s.
func (s *shop) await(what string, g *gate) {
	s.Helper()
	receive(s, what, g.passed)
}

// receive returns what comes over a channel, and fails if nothing does within 20 s.
func receive[T any](s *shop, what string, from <-chan T) T {
	s.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		s.Fatalf("not within 20 s: %s", what)
		panic("unreachable")
	}
}

// later sends r, and delivers the answer when it comes; one that never came has status 0.
func (s *shop) later(r *http.Request) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		a, err := do(http.DefaultClient, r)
		if err != nil {
			s.Error(err)
			a = answer{}
		}
		answers <- a
	}()
	return answers
}
