-- A key whose last try is marked as failed is taken like a new one.
INSERT INTO cleanup.idempotency_keys AS claim (key, status)
VALUES ($1, 'in_progress')
ON CONFLICT (key) DO UPDATE
SET
    created_at = statement_timestamp(),
    status = 'in_progress'
WHERE claim.status = 'failed'
RETURNING key;
