package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pgidem/pgidem/idem"
)

// cards is a card processor that charges at every call, also at a repeated one, and can be asked: it says what is pending.
type cards struct {
	mu      sync.Mutex
	last    int
	asked   int
	running map[string]int
	charges map[string][]int // by downstream key
}

func newCards() *cards {
	return &cards{running: make(map[string]int), charges: make(map[string][]int)}
}

// charge takes 20 to 500 ms, and happens once it has begun.
func (c *cards) charge(downstreamKey string) *idem.Response {
	c.mu.Lock()
	c.running[downstreamKey]++
	c.mu.Unlock()
	time.Sleep(20*time.Millisecond + rand.N(480*time.Millisecond))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[downstreamKey]--
	c.last++
	c.charges[downstreamKey] = append(c.charges[downstreamKey], c.last)
	return charged(c.last)
}

// resolve is what the policy asks.
func (c *cards) resolve(_ context.Context, r *idem.Record) (idem.Verdict, *idem.Response, error) {
	key := r.DownstreamKey(charge)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	switch {
	case len(c.charges[key]) > 0:
		return idem.Found, charged(c.charges[key][0]), nil
	case c.running[key] > 0:
		return idem.Pending, nil, nil
	}
	return idem.Nothing, nil, nil
}

func (c *cards) questions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// charge is the name of the one call of lease mode.
const charge = "charge"

func charged(id int) *idem.Response {
	return &idem.Response{Status: 201, Body: fmt.Appendf(nil, `{"charge":%d}`, id)}
}
