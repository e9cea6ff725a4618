package idem

import (
	"fmt"
	"time"
)

// Scope says what a key is unique within.
type Scope int

const (
	// ScopeEndpoint: a key belongs to tenant and endpoint; the same key at another endpoint is another key (article 004).
	ScopeEndpoint Scope = iota
	// ScopeTenant: a key belongs to its tenant alone; the same key at another endpoint is a mismatch (Stripe, article 000).
	ScopeTenant
)

// StalePolicy says what a claim does with an abandoned key: one whose lease is past and whose effect may have happened.
type StalePolicy int

const (
	// StaleRefuse answers ErrOutcomeUnknown until an operator settles the key. Safe whatever the downstream does.
	StaleRefuse StalePolicy = iota
	// StaleRerun takes the key over and runs the work again under a higher fence. Right when, and only when, the downstream
	// refuses to repeat a key that it has seen: give it Lease.DownstreamKey.
	StaleRerun
)

// Policy is how a Store treats its keys. The zero value is ready to use.
type Policy struct {
	// Retention is how long a finished key is remembered: a retry that comes later runs again. Choose it on purpose, longer
	// than any client's queue may lag. 0: 24 h, as Stripe has it.
	Retention time.Duration
	// Lease is how long a holder may be silent. Lease mode: how soon after a crash the key is free, and three times the
	// heartbeat. Atomic mode: how long fn may leave its transaction idle. Not above Retention. 0: 90 s.
	Lease time.Duration
	// Wait is how long a duplicate waits for the first call to end before it gets ErrInFlight: one budget for memory,
	// connection and database. 0: 1 s. Below 0: never wait.
	Wait time.Duration
	// Scope is what a key is unique within. Zero: ScopeEndpoint.
	Scope Scope
	// Stale is what becomes of abandoned keys. Zero: StaleRefuse.
	Stale StalePolicy
	// Handler names the work, and is stored with the key, for a background run that has only the key's row. Empty: none.
	Handler string
	// MaxBody is the size in bytes up to which an answer's body is kept. A larger one finishes its key without it, and a
	// retry is told so (Response.BodyDropped). 0: 1 MiB.
	MaxBody int
}

// withDefaults returns p with every zero replaced, or what is wrong with it.
func (p Policy) withDefaults() (Policy, error) {
	defaultTo(&p.Retention, 24*time.Hour)
	defaultTo(&p.Lease, 90*time.Second)
	defaultTo(&p.Wait, time.Second)
	defaultTo(&p.MaxBody, 1<<20)
	switch {
	case p.Lease < 0 || p.Retention < 0 || p.MaxBody < 0:
		return p, fmt.Errorf("policy: Lease %v, Retention %v and MaxBody %d must not be negative", p.Lease, p.Retention, p.MaxBody)
	case p.Retention < p.Lease:
		return p, fmt.Errorf("policy: Retention %v is shorter than Lease %v: a key would be forgotten while it is held", p.Retention, p.Lease)
	case p.Scope < ScopeEndpoint || p.Scope > ScopeTenant:
		return p, fmt.Errorf("policy: unknown Scope %d", p.Scope)
	case p.Stale < StaleRefuse || p.Stale > StaleRerun:
		return p, fmt.Errorf("policy: unknown Stale %d", p.Stale)
	}
	return p, nil
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
