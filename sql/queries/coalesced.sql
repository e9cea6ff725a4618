-- Several callers of one process in one statement (coalescing). Each row is decided exactly as its single statement decides it,
-- and is known by its caller's claim id. The keys' table is reached by its primary key alone: scalar subqueries and LATERAL keep
-- the planner from hashing a table that was small when the plan was made, and SettingsCoalesced does where neither can stand.

-- name: KeyClaimMany :many
-- KeyClaim and KeyLoad for several callers in lease mode, in one statement: a row comes back for each key that became its caller's, and
-- for each that stood when the statement began. No row: a rival's claim was faster, or another caller's of this very statement, or the
-- answer is a large one; then nothing is known, and the caller asks alone (a single statement cannot see what was committed while it
-- waited). Rows are taken in
-- the order of their keys, so that two such statements cannot deadlock. It waits only for a rival's claim that has not ended.
WITH asked AS MATERIALIZED (
    SELECT
        a.lease,
        a.retention,
        a.claim_id,
        a.tenant_id,
        a.endpoint,
        a.key,
        a.fingerprint,
        a.handler,
        a.request,
        found.standing,
        found.status AS found_status,
        found.leased AS found_leased,
        found.fence AS found_fence,
        found.claim_id AS found_claim_id,
        found.attempts AS found_attempts,
        found.fingerprint AS found_fingerprint,
        found.response_status,
        found.response_header,
        found.response_body,
        found.provider_ref,
        found.completed_at,
        found.claimed_at,
        found.locked_until,
        found.expires_at
    FROM ROWS FROM (
        unnest(@leases::interval[]),
        unnest(@retentions::interval[]),
        unnest(@claim_ids::uuid[]),
        unnest(@tenant_ids::text[]),
        unnest(@endpoints::text[]),
        unnest(@keys::text[]),
        unnest(@fingerprints::bytea[]),
        unnest(@handlers::text[]),
        unnest(@requests::bytea[])
    ) AS a (lease, retention, claim_id, tenant_id, endpoint, key, fingerprint, handler, request)
    LEFT JOIN LATERAL (
        SELECT
            true AS standing,
            k.status,
            k.leased,
            k.fence,
            k.claim_id,
            k.attempts,
            k.fingerprint,
            k.response_status,
            k.response_header,
            k.response_body,
            k.provider_ref,
            k.completed_at,
            k.claimed_at,
            k.locked_until,
            k.expires_at
        FROM idem.keys AS k
        WHERE k.tenant_id = a.tenant_id
          AND k.endpoint = a.endpoint
          AND k.key = a.key
        OFFSET 0 -- not merged into the query above, where all of the table could be hashed
    ) AS found ON true
),
taken AS (
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
        (extract(epoch FROM statement_timestamp()) * 1000000)::bigint,
        statement_timestamp(),
        statement_timestamp() + asked.lease,
        statement_timestamp(),
        statement_timestamp() + asked.lease + asked.retention,
        asked.claim_id,
        1,
        true,
        asked.tenant_id,
        asked.endpoint,
        asked.key,
        'in_flight',
        asked.fingerprint,
        nullif(asked.handler, ''),
        asked.request
    FROM asked
    WHERE asked.standing IS NULL
    ORDER BY asked.tenant_id COLLATE "C", asked.endpoint COLLATE "C", asked.key COLLATE "C"
    ON CONFLICT (tenant_id, endpoint, key) DO NOTHING
    RETURNING claim_id, fence
)
SELECT
    taken.claim_id AS asked_by,
    true AS taken,
    taken.fence,
    taken.claim_id,
    1 AS attempts,
    ''::text AS status,
    true AS leased,
    '\x'::bytea AS fingerprint,
    NULL::integer AS response_status,
    NULL::bytea AS response_header,
    NULL::bytea AS response_body,
    NULL::text AS provider_ref,
    NULL::timestamptz AS completed_at,
    '0'::interval AS age,
    '0'::interval AS remaining,
    '0'::interval AS expires_in
FROM taken
UNION ALL
SELECT
    asked.claim_id::uuid,
    false,
    asked.found_fence,
    asked.found_claim_id,
    asked.found_attempts,
    asked.found_status,
    asked.found_leased,
    asked.found_fingerprint,
    asked.response_status,
    asked.response_header,
    asked.response_body,
    asked.provider_ref,
    asked.completed_at,
    (statement_timestamp() - asked.claimed_at)::interval,
    coalesce(asked.locked_until - statement_timestamp(), '0'::interval)::interval,
    (asked.expires_at - statement_timestamp())::interval
FROM asked
WHERE asked.standing
  -- a large answer would keep everybody else waiting while it is read and sent (its length is known without reading it)
  AND coalesce(octet_length(asked.response_body), 0) <= @most_body::integer;

-- name: KeyCompleteMany :many
-- KeyComplete for several leases; a row comes back for each that was completed. A row that somebody has locked (a CompleteTx that
-- has not committed, a takeover under way) is left out rather than waited for: it is completed by itself afterwards, as is one
-- that did not fit.
WITH free AS MATERIALIZED (
    SELECT
        asked.retention,
        asked.claim_id,
        asked.fence,
        asked.response_status,
        asked.tenant_id,
        asked.endpoint,
        asked.key,
        asked.status,
        asked.response_header,
        asked.response_body,
        asked.provider_ref
    FROM ROWS FROM (
        unnest(@retentions::interval[]),
        unnest(@claim_ids::uuid[]),
        unnest(@fences::bigint[]),
        unnest(@response_statuses::integer[]),
        unnest(@tenant_ids::text[]),
        unnest(@endpoints::text[]),
        unnest(@keys::text[]),
        unnest(@statuses::text[]),
        unnest(@response_headers::bytea[]),
        unnest(@response_bodies::bytea[]),
        unnest(@provider_refs::text[])
    ) AS asked (
        retention, claim_id, fence, response_status, tenant_id, endpoint, key, status, response_header, response_body, provider_ref
    )
    CROSS JOIN LATERAL (
        SELECT true AS locked
        FROM idem.keys AS held
        WHERE held.tenant_id = asked.tenant_id
          AND held.endpoint = asked.endpoint
          AND held.key = asked.key
          AND held.fence = asked.fence
          AND held.status = 'in_flight'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS taken
)
UPDATE idem.keys AS k
SET
    locked_until = NULL,
    completed_at = statement_timestamp(),
    expires_at = greatest(k.expires_at, statement_timestamp() + free.retention),
    claim_id = free.claim_id,
    response_status = free.response_status,
    leased = false,
    status = free.status,
    response_header = free.response_header,
    response_body = free.response_body,
    provider_ref = nullif(free.provider_ref, '')
FROM free
-- not (k.tenant_id, k.endpoint, k.key) between equal rows, for which no plan can begin with idem.keys: such a scan ends only where the
-- first column does, and read all later keys of the tenant. Until the table is analysed, a plan of this may begin with idem.keys
WHERE k.tenant_id = free.tenant_id
  AND k.endpoint = free.endpoint
  AND k.key = free.key
  AND k.fence = free.fence
  AND k.status = 'in_flight'
RETURNING k.claim_id, k.completed_at;

-- name: LeaseExtendMany :many
-- LeaseExtend for several leases; a row comes back for each that was extended. A row that somebody has locked is left out rather
-- than waited for, and says nothing about its lease.
WITH free AS MATERIALIZED (
    SELECT
        asked.lease,
        asked.claim_id,
        asked.fence,
        asked.tenant_id,
        asked.endpoint,
        asked.key
    FROM ROWS FROM (
        unnest(@leases::interval[]),
        unnest(@claim_ids::uuid[]),
        unnest(@fences::bigint[]),
        unnest(@tenant_ids::text[]),
        unnest(@endpoints::text[]),
        unnest(@keys::text[])
    ) AS asked (lease, claim_id, fence, tenant_id, endpoint, key)
    CROSS JOIN LATERAL (
        SELECT true AS locked
        FROM idem.keys AS held
        WHERE held.tenant_id = asked.tenant_id
          AND held.endpoint = asked.endpoint
          AND held.key = asked.key
          AND held.fence = asked.fence
          AND held.claim_id = asked.claim_id
          AND held.status = 'in_flight'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS taken
)
UPDATE idem.keys AS k
SET locked_until = statement_timestamp() + free.lease
FROM free
-- not (k.tenant_id, k.endpoint, k.key) between equal rows, for which no plan can begin with idem.keys: such a scan ends only where the
-- first column does, and read all later keys of the tenant. Until the table is analysed, a plan of this may begin with idem.keys
WHERE k.tenant_id = free.tenant_id
  AND k.endpoint = free.endpoint
  AND k.key = free.key
  AND k.fence = free.fence
  AND k.claim_id = free.claim_id
  AND k.status = 'in_flight'
RETURNING k.claim_id;
