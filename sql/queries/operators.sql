-- What operators do to keys by hand. Each names the fence and claim that the operator saw, so that it changes nothing once the key
-- has moved on, refuses a key whose lease runs, and leaves a row in idem.audit in the same statement.

-- name: OperatorUnresolved :many
-- Lists the keys of lease mode that are not finished, oldest first: abandoned ones before those that are held or were given back
-- with steps. Empty strings mean any.
SELECT
    tenant_id,
    endpoint,
    key,
    CASE
        WHEN status <> 'in_flight' THEN status
        WHEN locked_until > statement_timestamp() THEN 'held'
        ELSE 'abandoned'
    END::text AS state,
    attempts,
    created_at,
    claimed_at,
    locked_until,
    coalesce(handler, '')::text AS handler
FROM idem.keys
WHERE leased
  AND (sqlc.arg(tenant_id)::text = '' OR tenant_id = sqlc.arg(tenant_id)::text)
  AND (sqlc.arg(endpoint)::text = '' OR endpoint = sqlc.arg(endpoint)::text)
  AND created_at <= statement_timestamp() - sqlc.arg(older)::interval
  AND sqlc.arg(state)::text IN ('', CASE
      WHEN status <> 'in_flight' THEN status
      WHEN locked_until > statement_timestamp() THEN 'held'
      ELSE 'abandoned'
  END)
ORDER BY status = 'in_flight' AND locked_until <= statement_timestamp() DESC, created_at
LIMIT sqlc.arg(most)::integer;

-- name: OperatorList :many
-- Lists keys in any state, oldest first. Empty strings mean any. Reads the whole table.
SELECT
    tenant_id,
    endpoint,
    key,
    CASE
        WHEN status <> 'in_flight' THEN status
        WHEN locked_until > statement_timestamp() THEN 'held'
        ELSE 'abandoned'
    END::text AS state,
    attempts,
    created_at,
    claimed_at,
    locked_until,
    completed_at,
    response_status,
    coalesce(handler, '')::text AS handler,
    coalesce(provider_ref, '')::text AS provider_ref
FROM idem.keys
WHERE NOT leased
  AND (sqlc.arg(tenant_id)::text = '' OR tenant_id = sqlc.arg(tenant_id)::text)
  AND (sqlc.arg(endpoint)::text = '' OR endpoint = sqlc.arg(endpoint)::text)
  AND (sqlc.arg(status)::text = '' OR status = sqlc.arg(status)::text)
  AND created_at <= statement_timestamp() - sqlc.arg(older)::interval
ORDER BY created_at
LIMIT sqlc.arg(most)::integer;

-- name: OperatorSettle :one
-- Finishes a key that nobody holds with an answer that somebody has found out. 0: it has moved on since it was seen.
WITH settled AS (
    UPDATE idem.keys AS k
    SET
        locked_until = NULL,
        completed_at = statement_timestamp(),
        expires_at = greatest(k.expires_at, statement_timestamp() + sqlc.arg(retention)::interval),
        claim_id = sqlc.arg(claim_id)::uuid,
        response_status = sqlc.arg(response_status)::integer,
        leased = false,
        status = sqlc.arg(status),
        response_header = sqlc.arg(response_header)::bytea,
        response_body = sqlc.narg(response_body)::bytea,
        provider_ref = sqlc.narg(provider_ref)::text
    WHERE k.tenant_id = sqlc.arg(tenant_id)
      AND k.endpoint = sqlc.arg(endpoint)
      AND k.key = sqlc.arg(key)
      AND k.fence = sqlc.arg(seen_fence)
      AND k.claim_id = sqlc.arg(seen_claim_id)
      AND ((k.status = 'in_flight' AND k.locked_until <= statement_timestamp()) OR k.status = 'released')
    RETURNING k.tenant_id, k.endpoint, k.key
),
noted AS (
    INSERT INTO idem.audit (who, what, tenant_id, endpoint, key, reason)
    SELECT sqlc.arg(who)::text, 'settle', settled.tenant_id, settled.endpoint, settled.key, sqlc.arg(reason)::text
    FROM settled
    RETURNING id
)
SELECT count(*)::bigint AS settled
FROM noted;

-- name: OperatorRelease :one
-- Gives back a key that nobody holds because somebody has found out that nothing happened: the next caller runs. Recorded steps
-- stay, those that were only begun go, and the fence rises, so that the old holder can do nothing more. 0: it has moved on since
-- it was seen.
WITH released AS (
    UPDATE idem.keys AS k
    SET
        fence = greatest(k.fence + 1, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint),
        locked_until = NULL,
        status = 'released',
        leased = EXISTS (
            SELECT 1
            FROM idem.steps AS s
            WHERE s.tenant_id = sqlc.arg(tenant_id)
              AND s.endpoint = sqlc.arg(endpoint)
              AND s.key = sqlc.arg(key)
              AND s.finished_at IS NOT NULL
        )
    WHERE k.tenant_id = sqlc.arg(tenant_id)
      AND k.endpoint = sqlc.arg(endpoint)
      AND k.key = sqlc.arg(key)
      AND k.fence = sqlc.arg(seen_fence)
      AND k.claim_id = sqlc.arg(seen_claim_id)
      AND k.status = 'in_flight'
      AND k.locked_until <= statement_timestamp()
    RETURNING k.tenant_id, k.endpoint, k.key
),
forgotten AS (
    DELETE FROM idem.steps AS s
    USING released
    WHERE s.tenant_id = sqlc.arg(tenant_id)
      AND s.endpoint = sqlc.arg(endpoint)
      AND s.key = sqlc.arg(key)
      AND s.finished_at IS NULL
    RETURNING 1
),
noted AS (
    INSERT INTO idem.audit (who, what, tenant_id, endpoint, key, reason)
    SELECT sqlc.arg(who)::text, 'release', released.tenant_id, released.endpoint, released.key, sqlc.arg(reason)::text
    FROM released
    RETURNING id
)
SELECT count(*)::bigint AS released
FROM noted;

-- name: OperatorForget :one
-- Deletes a key that nobody holds, with its steps, whatever its state: the next request under it is a new one. 0: it has moved on
-- since it was seen.
WITH gone AS (
    DELETE FROM idem.keys AS k
    WHERE k.tenant_id = sqlc.arg(tenant_id)
      AND k.endpoint = sqlc.arg(endpoint)
      AND k.key = sqlc.arg(key)
      AND k.fence = sqlc.arg(seen_fence)
      AND k.claim_id = sqlc.arg(seen_claim_id)
      AND (k.status <> 'in_flight' OR k.locked_until <= statement_timestamp())
    RETURNING k.tenant_id, k.endpoint, k.key
),
noted AS (
    INSERT INTO idem.audit (who, what, tenant_id, endpoint, key, reason)
    SELECT sqlc.arg(who)::text, 'forget', gone.tenant_id, gone.endpoint, gone.key, sqlc.arg(reason)::text
    FROM gone
    RETURNING id
)
SELECT count(*)::bigint AS forgotten
FROM noted;

-- name: OperatorAudit :many
-- What was done to a key by hand, newest first.
SELECT
    at,
    who,
    what,
    reason
FROM idem.audit
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
ORDER BY id DESC
LIMIT 100;

-- name: StatsStates :many
-- How many keys there are in each state, and how old the oldest is. Reads the whole table.
SELECT
    o.state::text AS state,
    sum(o.keys)::bigint AS keys,
    sum(o.expired)::bigint AS expired,
    min(o.oldest_created_at)::timestamptz AS oldest_created_at
FROM idem.overview AS o
GROUP BY o.state
ORDER BY o.state;

-- name: StatsTables :many
-- What the tables weigh, and what vacuum has left in them.
SELECT
    t.relname::text AS name,
    coalesce(t.n_live_tup, 0)::bigint AS live_rows,
    coalesce(t.n_dead_tup, 0)::bigint AS dead_rows,
    pg_total_relation_size(t.relid)::bigint AS bytes,
    t.last_vacuum,
    t.last_autovacuum
FROM pg_catalog.pg_stat_user_tables AS t
WHERE t.schemaname = 'idem'
ORDER BY t.relname;

-- name: StatsSnapshot :one
-- The oldest transaction that keeps vacuum from removing dead rows of this database: one left open, a prepared one, a replication
-- slot. It sees other roles' sessions only with the rights of pg_read_all_stats.
SELECT
    coalesce(max(held.age), 0)::bigint AS transactions,
    coalesce((array_agg(held.what ORDER BY held.age DESC))[1], '')::text AS what
FROM (
    SELECT
        -- between two statements of READ COMMITTED there is no snapshot, and what the transaction wrote still counts
        greatest(age(a.backend_xmin), age(a.backend_xid))::bigint AS age,
        'session ' || a.pid::text || ', since '
            || coalesce(to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'), '?') AS what
    FROM pg_catalog.pg_stat_activity AS a
    WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
      -- sessions of other databases hold back nothing here; a standby's feedback has no database
      AND (a.datname = current_database() OR a.datname IS NULL)
      -- a vacuum does not wait for itself
      AND a.backend_type <> 'autovacuum worker'
      AND a.pid <> pg_backend_pid()
    UNION ALL
    SELECT age(p.transaction)::bigint, 'prepared transaction ' || p.gid
    FROM pg_catalog.pg_prepared_xacts AS p
    WHERE p.database = current_database()
    UNION ALL
    SELECT age(s.xmin)::bigint, 'replication slot ' || s.slot_name::text
    FROM pg_catalog.pg_replication_slots AS s
    WHERE s.xmin IS NOT NULL
) AS held;
