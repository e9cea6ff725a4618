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
	// StaleResolve asks the downstream what happened, once Policy.Settle has passed since the lease ended. Right where the
	// downstream can be asked and nothing sent earlier can still take effect after its answer: because it says what is pending, or
	// because Settle is longer than a call may take.
	StaleResolve
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
	// Settle is how long StaleResolve waits after the end of a lease before it asks: longer than a call that was sent before can
	// still take to have its effect. 0: one Lease.
	Settle time.Duration
	// Resolve asks the downstream about an abandoned key under StaleResolve, for work without steps. nil: the work runs again, and
	// its begun steps are asked one by one (Call.Ask); one that cannot be asked is ErrOutcomeUnknown.
	Resolve Resolver
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
	defaultTo(&p.Settle, p.Lease)
	defaultTo(&p.Wait, time.Second)
	defaultTo(&p.MaxBody, 1<<20)
	switch {
	case p.Lease < 0 || p.Retention < 0 || p.Settle < 0 || p.MaxBody < 0:
		return p, fmt.Errorf("%w: Lease %v, Retention %v, Settle %v and MaxBody %d must not be negative", ErrInvalidPolicy,
			p.Lease, p.Retention, p.Settle, p.MaxBody)
	case p.Retention < p.Lease:
		return p, fmt.Errorf("%w: Retention %v is shorter than Lease %v: a key would be forgotten while it is held", ErrInvalidPolicy, p.Retention, p.Lease)
	case p.Scope < ScopeEndpoint || p.Scope > ScopeTenant:
		return p, fmt.Errorf("%w: unknown Scope %d", ErrInvalidPolicy, p.Scope)
	case p.Stale < StaleRefuse || p.Stale > StaleResolve:
		return p, fmt.Errorf("%w: unknown Stale %d", ErrInvalidPolicy, p.Stale)
	case p.Resolve != nil && p.Stale != StaleResolve:
		return p, fmt.Errorf("%w: Resolve is set and Stale is not StaleResolve: the downstream would never be asked", ErrInvalidPolicy)
	}
	return p, nil
}

// settle is how long after the end of a lease the key may be taken.
func (p Policy) settle() time.Duration {
	if p.Stale == StaleResolve {
		return p.Settle
	}
	return 0
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
