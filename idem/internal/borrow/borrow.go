// Package borrow lets a caller that only reads an answer's body, and forgets it, share it with others: a middleware, which writes
// it out. Without it each retry of a storm that is answered from memory has a copy of its own.
package borrow

import "context"

// key is the call's own: work that calls for another key with the same context borrows nothing.
type key struct{ tenant, endpoint, id string }

type bodyContext struct{}

// Body marks the context of a call for a key whose caller only reads the answer's body.
func Body(ctx context.Context, tenant, endpoint, id string) context.Context {
	return context.WithValue(ctx, bodyContext{}, key{tenant, endpoint, id})
}

// IsBody reports whether the caller of a call for this key only reads the answer's body.
func IsBody(ctx context.Context, tenant, endpoint, id string) bool {
	marked, ok := ctx.Value(bodyContext{}).(key)
	return ok && marked == key{tenant, endpoint, id}
}
