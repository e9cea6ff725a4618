package model

import (
	"time"

	"github.com/pgidem/pgidem/idem"
)

// class is how a key is worked on, as a route of its own would be. In every history each key has another one.
type class struct {
	name    string
	policy  idem.Policy
	atomic  bool // Do
	stepped bool // two calls with a step of local rows between them; otherwise one call
	refuses bool // the downstream repeats nothing
	// exclusive: the downstream repeats what it is asked for, so that time may only pass while no call is on its way. That is what
	// Policy.Settle is for.
	exclusive bool
}

const (
	// brief is a lease that lapses by itself while its key is still asked for.
	brief = 150 * time.Millisecond
	// long is a lease, and a Settle, that ends by UPDATE alone: the test says when.
	long     = time.Minute
	patience = 30 * time.Millisecond
)

var (
	atomicClass     = &class{name: "atomic", atomic: true, policy: idem.Policy{Lease: long}}
	rerunClass      = &class{name: "rerun", refuses: true, policy: idem.Policy{Lease: brief, Stale: idem.StaleRerun}}
	rerunStepsClass = &class{name: "rerun in steps", stepped: true, refuses: true, policy: idem.Policy{Lease: long, Stale: idem.StaleRerun}}
	resolveClass    = &class{name: "resolve", exclusive: true, policy: idem.Policy{Lease: long, Stale: idem.StaleResolve, Resolve: resolve}}
	askedClass      = &class{name: "resolve in steps", stepped: true, exclusive: true, policy: idem.Policy{Lease: long, Stale: idem.StaleResolve}}
	refuseClass     = &class{name: "refuse", exclusive: true, policy: idem.Policy{Lease: long, Stale: idem.StaleRefuse}}
)

// classes are those of a history: five of the six.
func classes(seed uint64) []*class {
	rerun := rerunClass
	if seed%2 == 1 {
		rerun = rerunStepsClass
	}
	return []*class{atomicClass, rerun, resolveClass, askedClass, refuseClass}
}

func (c *class) settle() time.Duration {
	if c.policy.Stale == idem.StaleResolve {
		return c.policy.Lease // its default
	}
	return 0
}

// stepNames are the downstream's names for its calls: one without steps, the first and the last with them.
var stepNames = [Steps]string{"charge", "book", "ship"}
