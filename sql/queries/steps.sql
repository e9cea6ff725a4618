-- Recovery points of a key.

-- name: StepForget :execrows
-- Deletes the steps of the life that KeyRenew has just ended; none when that claim won nothing.
DELETE FROM idem.steps AS s
USING idem.keys AS k
WHERE s.tenant_id = @tenant_id
  AND s.endpoint = @endpoint
  AND s.key = @key
  AND k.tenant_id = @tenant_id
  AND k.endpoint = @endpoint
  AND k.key = @key
  AND k.claim_id = @claim_id;

-- name: StepList :many
-- Reads the steps of a key, in the order in which they run.
SELECT
    name,
    position,
    begun_at,
    finished_at,
    output
FROM idem.steps
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
ORDER BY position;

-- name: StepBegin :one
-- Announces a step before its effect is asked for, and extends the lease in the same fenced write. Again for a step that began
-- and was not recorded. No row: the lease is another's, or the step is recorded.
--
-- Cost: one row version of the key (HOT) and one row; with StepFinish two round trips and about 1,050 bytes of WAL a step.
WITH held AS (
    UPDATE idem.keys AS k
    SET locked_until = statement_timestamp() + @lease::interval
    WHERE k.tenant_id = @tenant_id
      AND k.endpoint = @endpoint
      AND k.key = @key
      AND k.fence = @fence
      AND k.claim_id = @claim_id
      AND k.status = 'in_flight'
    RETURNING k.fence
)
INSERT INTO idem.steps AS s (
    begun_at,
    position,
    tenant_id,
    endpoint,
    key,
    name
)
SELECT
    statement_timestamp(),
    @position::integer,
    @tenant_id,
    @endpoint,
    @key,
    @name::text
FROM held
ON CONFLICT (tenant_id, endpoint, key, name) DO UPDATE
SET begun_at = excluded.begun_at
WHERE s.finished_at IS NULL
RETURNING s.position;

-- name: StepFinish :one
-- Records what a step returned, and extends the lease in the same fenced write. No row: the lease is another's, or the step is
-- recorded already.
WITH held AS (
    UPDATE idem.keys AS k
    SET locked_until = statement_timestamp() + @lease::interval
    WHERE k.tenant_id = @tenant_id
      AND k.endpoint = @endpoint
      AND k.key = @key
      AND k.fence = @fence
      AND k.claim_id = @claim_id
      AND k.status = 'in_flight'
    RETURNING k.fence
)
UPDATE idem.steps AS s
SET
    finished_at = statement_timestamp(),
    output = @output::bytea
FROM held
WHERE s.tenant_id = @tenant_id
  AND s.endpoint = @endpoint
  AND s.key = @key
  AND s.name = @name
  AND s.finished_at IS NULL
RETURNING s.position;

-- name: StepUndo :execrows
-- Takes back that a step began, because it is known to have done nothing.
WITH held AS (
    UPDATE idem.keys AS k
    SET locked_until = statement_timestamp() + @lease::interval
    WHERE k.tenant_id = @tenant_id
      AND k.endpoint = @endpoint
      AND k.key = @key
      AND k.fence = @fence
      AND k.claim_id = @claim_id
      AND k.status = 'in_flight'
    RETURNING k.fence
)
DELETE FROM idem.steps AS s
USING held
WHERE s.tenant_id = @tenant_id
  AND s.endpoint = @endpoint
  AND s.key = @key
  AND s.name = @name
  AND s.finished_at IS NULL;

-- name: StepRecordTx :one
-- Records a step within the transaction that holds its rows, and raises IDM01 where the lease is gone, so that they cannot commit
-- even if the caller ignores the error. It is to be the last statement before COMMIT: its row lock blocks the holder's own
-- heartbeat. A step that is recorded already is a unique violation.
WITH held AS (
    UPDATE idem.keys AS k
    SET locked_until = statement_timestamp() + @lease::interval
    WHERE k.tenant_id = @tenant_id
      AND k.endpoint = @endpoint
      AND k.key = @key
      AND k.fence = @fence
      AND k.claim_id = @claim_id
      AND k.status = 'in_flight'
    RETURNING k.fence
),
recorded AS (
    INSERT INTO idem.steps (
        begun_at,
        finished_at,
        position,
        tenant_id,
        endpoint,
        key,
        name,
        output
    )
    SELECT
        statement_timestamp(),
        statement_timestamp(),
        @position::integer,
        @tenant_id,
        @endpoint,
        @key,
        @name::text,
        @output::bytea
    FROM held
    RETURNING finished_at
)
SELECT coalesce((SELECT finished_at FROM recorded), idem.lease_lost())::timestamptz AS finished_at;

-- name: StepProbe :one
-- Asks whether a transaction whose COMMIT went unanswered recorded the step, by inserting it again; the insert waits for that
-- transaction to end. Only in a transaction that is always rolled back. A row comes back when no row stands. Follow it with
-- StepLoad.
INSERT INTO idem.steps (
    begun_at,
    finished_at,
    position,
    tenant_id,
    endpoint,
    key,
    name,
    output
)
VALUES (
    statement_timestamp(),
    statement_timestamp(),
    @position::integer,
    @tenant_id,
    @endpoint,
    @key,
    @name,
    '\x'
)
ON CONFLICT (tenant_id, endpoint, key, name) DO NOTHING
RETURNING position;

-- name: StepLoad :one
-- Reads one step.
SELECT
    position,
    finished_at,
    output
FROM idem.steps
WHERE tenant_id = @tenant_id
  AND endpoint = @endpoint
  AND key = @key
  AND name = @name;
