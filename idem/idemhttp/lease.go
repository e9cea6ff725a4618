package idemhttp

import (
	"context"
	"sync/atomic"

	"github.com/pgidem/pgidem/idem"
)

// held is what a handler in lease mode finds in its context.
type held struct {
	lease     *idem.Lease
	used      atomic.Bool // LeaseFrom was called
	transient atomic.Bool // Transient was called
}

type heldContext struct{}

func heldFrom(ctx context.Context) *held {
	h, _ := ctx.Value(heldContext{}).(*held)
	return h
}

// LeaseFrom returns the lease that a handler of Middleware.Handler runs under; false where there is none, as in a request without
// a key. The handler takes the downstream key from it for what it calls (Lease.DownstreamKey), gives the key back when nothing
// happened (Lease.Release), and may record its answer together with rows of its own (Lease.CompleteTx).
//
// A handler that completes the lease itself need write nothing: the answer that it recorded is sent, and what it wrote is not.
func LeaseFrom(ctx context.Context) (*idem.Lease, bool) {
	h := heldFrom(ctx)
	if h == nil {
		return nil, false
	}
	h.used.Store(true)
	return h.lease, true
}

// Transient says that the call which failed did nothing, a processor's 503 for instance: with an answer that is not kept, the key
// is given back at once, provided that it was the only call (at most one downstream key was asked for). Not for a time-out: that
// call may have arrived. Without a lease it does nothing.
func Transient(ctx context.Context) {
	if h := heldFrom(ctx); h != nil {
		h.transient.Store(true)
	}
}
