package idem

import "context"

// Verdict is what a downstream says when it is asked about an effect.
type Verdict int

const (
	// Pending: it is not decided, or cannot be found out. The key stays unknown and is asked about again later.
	Pending Verdict = iota
	// Found: the effect has happened, or was refused for good. A downstream that answers a repeat with "duplicate key" has
	// found it.
	Found
	// Nothing: it has not happened, and nothing that was sent before can make it happen any more.
	Nothing
)

// Resolver asks the downstream what became of an abandoned key. Found goes with the answer to record (nil: &Response{}); an error
// counts as Pending. It must not have the effect that it asks about; what it found it may write down, if that can be repeated.
// ctx ends with the resolver's own lease, which Hold extends.
//
// The holder that was given up may still be at it: if it completes while the resolver asks, its answer stands.
type Resolver func(ctx context.Context, r *Record) (Verdict, *Response, error)
