// Package processor is a pretended card processor: the separate system that takes the money. It runs as a process of its own
// (examples/payments/processor) with tables of its own, and behaves as real ones do at their best and at their worst, so that
// tests, the payments example and the experiments can see what a caller makes of it.
//
//	POST /v1/charges      {"amount_cents":4900,"card":"4242424242424242","reference":"order 1"}
//	POST /v1/refunds      {"amount_cents":4900,"charge":"ch_1"}
//	GET  /v1/charges?key=K, /v1/charges/ch_1, and the same for refunds: the processor is asked
//	GET  /v1/behaviour, PUT /v1/behaviour: how it treats its callers, see Behaviour
//	GET  /v1/stats        what it has done; ?landed=true answers when all that has arrived has landed
//	POST /v1/reset        forgets everything but its behaviour
//
// A POST may carry an Idempotency-Key, 1 to 255 visible ASCII characters. It is answered with 201 and a Receipt, 402 when the
// card is declined, or an Error. Every charge is a row that is committed by itself, before its answer is sent: a charge whose
// answer nobody sees stands. A call that has arrived is carried out whatever becomes of its caller.
package processor
