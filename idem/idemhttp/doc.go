// Package idemhttp puts idempotency keys in front of net/http handlers, and behind net/http clients.
//
// [Middleware.Handler] runs a handler under a lease, for effects outside the database; [Middleware.HandlerTx] gives it a
// transaction that commits together with its answer. A request that comes again under its Idempotency-Key gets the first answer,
// byte for byte and marked Idempotent-Replayed; one that differs is refused. Authentication stands in front of the middleware,
// so that a replay is never given to somebody who may not see it.
//
// No byte of an answer leaves before the commit that records it is confirmed. The header is a convention, not a standard: the
// IETF draft that describes it has expired (draft-ietf-httpapi-idempotency-key-header).
//
// [Transport] is the client's side: it makes a key for each logical request and sends it again, unchanged, until there is an
// answer.
package idemhttp
