// Package idem runs work under idempotency keys on PostgreSQL: many callers may ask for the same payment at once, crash and ask
// again, and it happens once and is answered alike.
//
// There are two modes, and which one fits depends on where the effect is:
//
//   - Atomic mode, [Store.Do], [Store.DoBatch] and [Store.DoTx]: the effect is rows in this database. Key and rows are one
//     transaction.
//   - Lease mode, [Store.Hold] and [Store.Claim]: the effect is elsewhere, at a card processor for instance. The claim is
//     committed first, the work runs without a transaction, and its answer is recorded.
//
// An endpoint uses one of them. Calls in lease mode that a process makes at one moment share statements, and nothing else: what
// becomes of one is not the others' ([Store.NoCoalescing]). The schema is migrated beforehand (idem migrate up, or the stock golang-migrate CLI over package
// sql/schema); [Store.Check] says whether a set-up is fit. A [Sweeper] deletes what is past its retention.
//
// # Promises
//
// Each is a test of its name.
//
//   - P1, one effect. For one key, however many callers, processes, retries and crashes: an effect in the same transaction
//     happens exactly once. An effect elsewhere is always asked for under one downstream key ([Lease.DownstreamKey]); it happens
//     at most once if the downstream refuses a repeated key, or if it can be asked and nothing sent earlier can still take effect
//     after its answer. If neither holds, only [StaleRefuse] prevents a second. All of it
//     stands on durable commits: a failover that loses a commit loses the promise for that key.
//   - P2, same answer. Every later caller gets the first answer: status, header and body byte for byte, or is told that the body
//     was not kept ([Response.BodyDropped]).
//   - P3, no wrong answer. A key reused for another request ([Fingerprint]), tenant or endpoint never gets the first one's answer,
//     and another tenant does not learn that it exists.
//   - P4, durable before visible. No answer is returned before the commit that records it is confirmed.
//   - P5, fail closed. When the database cannot say who owns the key, the work does not run ([ErrUnavailable]).
//   - P6, nothing looks busy for ever. Within one lease of a crash, a hang or a partition the key is free (atomic mode), handed
//     over ([StaleRerun]), being resolved ([StaleResolve], once Policy.Settle has passed), or named [ErrOutcomeUnknown] and listed
//     for an operator ([StaleRefuse]).
//   - P7, fenced. A holder that has lost its lease can change nothing of ours, nor commit a StepTx or CompleteTx. One whose
//     lease has lapsed but whom nobody has replaced can still extend and complete; one whom a resolver displaced can only complete.
//   - P8, unknown is a state. After an effect that may have happened the key is not given back; somebody decides, nobody guesses.
//   - P9, reading is free. Once a key's row is committed, a replay, [ErrInFlight] and [ErrMismatch] write nothing: no row version,
//     no row lock, no transaction id. Callers that race for a new key may burn one each; a statement that is shared with one that
//     takes a new key has that one's.
//   - P10, one clock: the database's. This process's clock is never compared with a stored time.
package idem
