-- Claim, load and complete a key: both modes. Every statement names tenant, endpoint and key.
--
-- Times are the database's: statement_timestamp(), because now() stands still in a long transaction and clock_timestamp()
-- is VOLATILE, which sharded tables refuse in an UPDATE. Values in a statement that waits are computed before the wait.

-- name: KeyClaim :one
-- Makes a key that has no row the caller's own; no row comes back when there is one already, or a rival's was faster. It
-- waits only for a rival's claim that has not ended. Follow it with KeyLoad in the same round trip.
--
-- Cost: about 850 bytes of WAL together with KeyCompleteTx, 910 with keys in no order (36-byte key, 100-byte answer, no
-- full-page images); on a finished key no transaction id, no WAL, no row version. 25 µs in the server, 14 of them the CHECK.
-- Slower: without NOT EXISTS 0.6 times the rate on finished keys, and it then waits for an open completion, heartbeat or
-- sweep of the row; ON CONFLICT DO UPDATE locks the row (a transaction id a replay); claim and read in ONE statement
-- returns no row at all under overlap, for its snapshot is older than the rival's commit.
INSERT INTO idem.keys (
    fence,
    claimed_at,
    locked_until,
    created_at,
    expires_at,
    claim_id,
    attempts,
    leased,
    tenant_id,
    endpoint,
    key,
    status,
    fingerprint,
    handler,
    request
)
SELECT
    -- no sequence: nextval is drawn before the conflict is seen, which costs every replay a transaction id
    (extract(epoch FROM statement_timestamp()) * 1000000)::bigint,
    statement_timestamp(),
    statement_timestamp() + @lease::interval,
    statement_timestamp(),
    statement_timestamp() + sqlc.arg(lease)::interval + sqlc.arg(retention)::interval,
    @claim_id::uuid,
    1,
    @leased::boolean,
    @tenant_id::text,
    @endpoint::text,
    @key::text,
    'in_flight',
    @fingerprint::bytea,
    sqlc.narg(handler)::text,
    sqlc.narg(request)::bytea
WHERE NOT EXISTS (
    SELECT 1
    FROM idem.keys AS standing
    WHERE standing.tenant_id = @tenant_id::text
      AND standing.endpoint = @endpoint::text
      AND standing.key = @key::text
)
ON CONFLICT (tenant_id, endpoint, key) DO NOTHING
RETURNING fence, attempts, fingerprint;

-- name: KeyLoad :one
-- Reads what a claim is decided by: the answer where there is one, and the times by the database's clock. Takes no lock and
-- no transaction id. The holder that asks after a lost answer knows its own row by claim_id.
SELECT
    status,
    leased,
    fence,
    claim_id,
    attempts,
    fingerprint,
    response_status,
    response_header,
    response_body,
    provider_ref,
    completed_at,
    (statement_timestamp() - claimed_at)::interval AS age,
    coalesce(locked_until - statement_timestamp(), '0'::interval)::interval AS remaining,
    (expires_at - statement_timestamp())::interval AS expires_in
FROM idem.keys
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key;

-- name: KeyRenew :one
-- Starts a new life of a finished key past its retention, or of one that was given back without steps: everything that
-- belonged to the old life is written anew, and the fence rises. No row: it is no longer what was loaded. Follow it with
-- StepForget in the same transaction.
UPDATE idem.keys
SET
    -- above the predecessor's even where the clock stepped back: its late writes must not fit
    fence = greatest(fence + 1, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint),
    claimed_at = statement_timestamp(),
    locked_until = statement_timestamp() + @lease::interval,
    created_at = statement_timestamp(),
    completed_at = NULL,
    expires_at = statement_timestamp() + sqlc.arg(lease)::interval + sqlc.arg(retention)::interval,
    claim_id = @claim_id,
    attempts = 1,
    response_status = NULL,
    leased = @leased,
    status = 'in_flight',
    fingerprint = @fingerprint,
    handler = sqlc.narg(handler),
    request = sqlc.narg(request),
    response_header = NULL,
    response_body = NULL,
    provider_ref = NULL
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
  AND fence = @seen_fence
  AND claim_id = @seen_claim_id
  AND (
      (status IN ('committed', 'failed') AND expires_at <= statement_timestamp())
      OR (status = 'released' AND NOT leased)
  )
RETURNING fence, attempts, fingerprint;

-- name: KeyResume :one
-- Takes up a key that was given back with steps: the same life goes on, its recorded steps are kept, the fence rises. No row:
-- it is no longer what was loaded.
UPDATE idem.keys
SET
    fence = greatest(fence + 1, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint),
    claimed_at = statement_timestamp(),
    locked_until = statement_timestamp() + @lease::interval,
    claim_id = @claim_id,
    attempts = attempts + 1,
    leased = @leased,
    status = 'in_flight'
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
  AND fence = @seen_fence
  AND claim_id = @seen_claim_id
  AND status = 'released'
  AND leased
RETURNING fence, attempts, fingerprint;

-- name: KeyTakeOver :one
-- Takes an abandoned key from its holder (StaleRerun; StaleResolve without a resolver, once @settle has passed since the lapse):
-- the same life goes on, the fence rises, and nothing the old holder sends from then on fits. No row: it was extended, finished,
-- given back or taken meanwhile.
UPDATE idem.keys
SET
    fence = greatest(fence + 1, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint),
    claimed_at = statement_timestamp(),
    locked_until = statement_timestamp() + @lease::interval,
    claim_id = @claim_id,
    attempts = attempts + 1
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
  AND fence = @seen_fence
  AND claim_id = @seen_claim_id
  AND status = 'in_flight'
  AND leased
  AND locked_until <= statement_timestamp() - @settle::interval
RETURNING fence, attempts, fingerprint;

-- name: KeyResolve :one
-- Takes an abandoned key for whoever asks the downstream about it (StaleResolve). The fence stays, so the displaced holder can
-- still complete, and wins if it does; its other writes name its claim and no longer fit. No row: as with KeyTakeOver.
UPDATE idem.keys
SET
    claimed_at = statement_timestamp(),
    locked_until = statement_timestamp() + @lease::interval,
    claim_id = @claim_id,
    attempts = attempts + 1
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
  AND fence = @seen_fence
  AND claim_id = @seen_claim_id
  AND status = 'in_flight'
  AND leased
  AND locked_until <= statement_timestamp() - @settle::interval
RETURNING fence, attempts, fingerprint;

-- name: KeyRaise :one
-- Raises the fence of a key that its resolver found to have had no effect: from here on the displaced holder cannot complete,
-- and the work may run. No row: it completed meanwhile, or another resolver took the key.
UPDATE idem.keys
SET
    fence = greatest(fence + 1, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint),
    locked_until = statement_timestamp() + @lease::interval
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
  AND fence = @fence
  AND claim_id = @claim_id
  AND status = 'in_flight'
RETURNING fence;

-- name: KeySettle :one
-- KeyComplete for a resolver's verdict: it names the claim too, so that what the downstream said some time ago is not written over
-- another resolver's. No row: the displaced holder completed meanwhile, or another resolver took the key.
UPDATE idem.keys
SET
    locked_until = NULL,
    completed_at = statement_timestamp(),
    expires_at = greatest(expires_at, statement_timestamp() + @retention::interval),
    response_status = @response_status::integer,
    leased = false,
    status = @status,
    response_header = @response_header::bytea,
    response_body = @response_body,
    provider_ref = @provider_ref
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
  AND fence = @fence
  AND claim_id = @claim_id
  AND status = 'in_flight'
RETURNING completed_at;

-- name: KeyComplete :one
-- Records the answer of a key held in lease mode. It names the fence but not the claim, so a holder whom a resolver
-- displaced can still complete; it writes the claim, so a completion whose own answer was lost is known again. A lapsed
-- lease that nobody took over completes. No row: load the key and see who finished it.
--
-- Cost: one index entry removed from keys_leased, so not HOT; see KeyCompleteTx for atomic mode.
UPDATE idem.keys
SET
    locked_until = NULL,
    completed_at = statement_timestamp(),
    -- its own value while retention is covered, which keeps the row out of the index's way
    expires_at = greatest(expires_at, statement_timestamp() + @retention::interval),
    claim_id = @claim_id,
    response_status = @response_status::integer,
    leased = false,
    status = @status,
    response_header = @response_header::bytea,
    response_body = @response_body,
    provider_ref = @provider_ref
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
  AND fence = @fence
  AND status = 'in_flight'
RETURNING completed_at;

-- name: KeyCompleteTx :one
-- Records the answer within the transaction that holds the effect, and raises IDM01 where the lease is gone, so that the
-- effect cannot commit even if the caller ignores the error. It is to be the last statement before COMMIT: its row lock
-- blocks the holder's own heartbeat.
--
-- Cost: HOT in atomic mode, where leased is false from the start. 21 µs in the server, 12 of them the CHECK.
WITH completed AS (
    UPDATE idem.keys
    SET
        locked_until = NULL,
        completed_at = statement_timestamp(),
        expires_at = greatest(expires_at, statement_timestamp() + @retention::interval),
        claim_id = @claim_id,
        response_status = @response_status::integer,
        leased = false,
        status = @status,
        response_header = @response_header::bytea,
        response_body = @response_body,
        provider_ref = @provider_ref
    WHERE tenant_id = @tenant_id
      AND endpoint = @endpoint
      AND key = @key
      AND fence = @fence
      AND status = 'in_flight'
    RETURNING completed_at
)
SELECT coalesce((SELECT completed_at FROM completed), idem.lease_lost())::timestamptz AS completed_at;

-- name: KeyProbe :one
-- Asks whether a transaction whose COMMIT went unanswered left the key's row, by inserting it again. Unguarded, because it
-- must wait for that transaction to end. Only in a transaction that is always rolled back. A row comes back when no row
-- stands: the doubtful transaction was rolled back for certain. Otherwise KeyLoad says whose row it is.
INSERT INTO idem.keys (
    fence,
    claimed_at,
    locked_until,
    created_at,
    expires_at,
    claim_id,
    attempts,
    leased,
    tenant_id,
    endpoint,
    key,
    status,
    fingerprint
)
VALUES (
    1,
    statement_timestamp(),
    statement_timestamp(),
    statement_timestamp(),
    statement_timestamp(),
    @claim_id,
    1,
    false,
    @tenant_id,
    @endpoint,
    @key,
    'in_flight',
    '\x00'
)
ON CONFLICT (tenant_id, endpoint, key) DO NOTHING
RETURNING fence;

-- name: KeyLookup :one
-- Reads everything about one key, for a person or a resolver to look at.
SELECT
    CASE
        WHEN status <> 'in_flight' THEN status
        WHEN locked_until > statement_timestamp() THEN 'held'
        ELSE 'abandoned'
    END::text AS state,
    leased,
    fence,
    claim_id,
    attempts,
    claimed_at,
    locked_until,
    created_at,
    completed_at,
    expires_at,
    fingerprint,
    handler,
    request,
    response_status,
    response_header,
    response_body,
    provider_ref
FROM idem.keys
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key;

-- name: KeyMarkUnknown :execrows
-- Marks a key of atomic mode whose transaction was ended behind our back: it stands in flight, committed, and what was
-- committed with it is unknown. It becomes a key that operators see.
UPDATE idem.keys
SET
    locked_until = statement_timestamp(),
    leased = true
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
  AND claim_id = @claim_id
  AND status = 'in_flight';

-- name: KeyStale :many
-- Lists keys of lease mode that nobody holds and that a known handler can finish in the background, oldest first: abandoned ones
-- once @settle has passed since the lapse, and those given back with recorded steps. A key that was tried rests for @backoff
-- doubled with each attempt, at most @longest, times @jitter; one that was tried @attempts times is parked for an operator.
--
-- Cost: 0.3 ms for 100 abandoned keys among ten million, by keys_leased (docs/benchmarks.md).
SELECT
    tenant_id,
    endpoint,
    key,
    fingerprint,
    coalesce(handler, '')::text AS handler,
    request,
    attempts
FROM idem.keys
WHERE leased
  AND handler = ANY (sqlc.arg(handlers)::text[])
  AND attempts < sqlc.arg(attempts)::integer
  AND (
      (status = 'in_flight' AND locked_until <= statement_timestamp() - sqlc.arg(settle)::interval)
      OR status = 'released'
  )
  AND coalesce(locked_until, claimed_at) <= statement_timestamp()
      - least(sqlc.arg(backoff)::interval * power(2, least(attempts - 1, 30)), sqlc.arg(longest)::interval) * sqlc.arg(jitter)::double precision
ORDER BY created_at
LIMIT sqlc.arg(batch)::integer;

-- name: KeyParked :one
-- Counts the keys that KeyStale no longer lists because they were tried too often.
SELECT count(*)::bigint AS parked
FROM idem.keys
WHERE leased
  AND handler = ANY (sqlc.arg(handlers)::text[])
  AND attempts >= sqlc.arg(attempts)::integer
  AND (status = 'released' OR locked_until <= statement_timestamp());
