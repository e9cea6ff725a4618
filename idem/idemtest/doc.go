// Package idemtest is what users test their own handlers with, and never part of a service.
//
// A unit test sends one request, a load test with keys of its own sends no retries, and neither finds a handler that charges
// twice: that needs duplicates that overlap in time, which is what a client's time-out makes in production. [Storm] makes them.
// [Lapse] ends a lease as its holder's death would, [Drop] hangs up on a handler at a chosen point.
//
// Nothing here needs the package idemhttp in the handler: what is tested is what a client sees.
package idemtest
