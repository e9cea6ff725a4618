-- Retention. Only finished keys past expires_at go, and keys given back without steps; unfinished ones are counted.

-- name: SweepClock :one
-- The database's clock, which the sweep holds against its own before it deletes anything.
SELECT statement_timestamp()::timestamptz AS now;

-- name: SweepBatch :one
-- Deletes up to @batch keys past their retention, oldest first, from @from_time on. due is how many it found, deleted how
-- many of them went: the others are locked by a claim or another sweeper and are skipped, never waited for. last is where
-- the next batch starts.
--
-- Cost: 43,000 rows a second by key (2 cores); by ctid 65,000-84,000, but a ctid does not survive a re-claim and means
-- nothing over partitions.
WITH due AS (
    SELECT tenant_id, endpoint, key, expires_at
    FROM idem.keys
    WHERE expires_at <= statement_timestamp()
      AND expires_at >= @from_time::timestamptz
      AND (status IN ('committed', 'failed') OR (status = 'released' AND NOT leased))
    ORDER BY expires_at
    LIMIT @batch::integer
),
locked AS (
    SELECT k.tenant_id, k.endpoint, k.key
    FROM due
    JOIN idem.keys AS k
      ON k.tenant_id = due.tenant_id
     AND k.endpoint = due.endpoint
     AND k.key = due.key
    FOR UPDATE OF k SKIP LOCKED
),
gone AS (
    DELETE FROM idem.keys AS k
    USING locked
    WHERE k.tenant_id = locked.tenant_id
      AND k.endpoint = locked.endpoint
      AND k.key = locked.key
      -- on the very row that goes: a key claimed again since it was found due is somebody's payment
      AND k.expires_at <= statement_timestamp()
      AND (k.status IN ('committed', 'failed') OR (k.status = 'released' AND NOT k.leased))
    RETURNING 1
)
SELECT
    (SELECT count(*) FROM due)::bigint AS due,
    (SELECT count(*) FROM gone)::bigint AS deleted,
    coalesce((SELECT max(expires_at) FROM due), @from_time::timestamptz)::timestamptz AS last;

-- name: SweepTenantBatch :one
-- SweepBatch for one tenant: the form that a sharded table accepts, where FOR UPDATE needs tenant_id = a value.
WITH due AS (
    SELECT k.endpoint, k.key, k.expires_at
    FROM idem.keys AS k
    WHERE k.tenant_id = @tenant_id
      AND k.expires_at <= statement_timestamp()
      AND k.expires_at >= @from_time::timestamptz
      AND (k.status IN ('committed', 'failed') OR (k.status = 'released' AND NOT k.leased))
    ORDER BY k.expires_at
    LIMIT @batch::integer
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM idem.keys AS k
    USING due
    WHERE k.tenant_id = @tenant_id
      AND k.endpoint = due.endpoint
      AND k.key = due.key
      AND k.expires_at <= statement_timestamp()
      AND (k.status IN ('committed', 'failed') OR (k.status = 'released' AND NOT k.leased))
    RETURNING 1
)
SELECT
    (SELECT count(*) FROM due)::bigint AS due,
    (SELECT count(*) FROM gone)::bigint AS deleted,
    coalesce((SELECT max(expires_at) FROM due), @from_time::timestamptz)::timestamptz AS last;

-- name: SweepNextTenant :one
-- The tenant after the one given in byte order, empty when there is none: how a sweep walks a sharded table.
SELECT coalesce(min(tenant_id), '')::text AS tenant_id
FROM idem.keys
WHERE tenant_id > @after;

-- name: SweepCount :one
-- How many keys a sweep would delete now.
SELECT count(*)::bigint AS due
FROM idem.keys
WHERE expires_at <= statement_timestamp()
  AND (status IN ('committed', 'failed') OR (status = 'released' AND NOT leased));

-- name: SweepUnresolved :one
-- How many keys are abandoned: no sweep deletes them, a retry, the completer or an operator has to settle them.
SELECT count(*)::bigint AS abandoned
FROM idem.keys
WHERE leased
  AND status = 'in_flight'
  AND locked_until <= statement_timestamp();
