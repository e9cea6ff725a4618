-- No row comes back for a key that is there: somebody else has it.
INSERT INTO cleanup.idempotency_keys (key, status)
VALUES ($1, 'in_progress')
ON CONFLICT (key) DO NOTHING
RETURNING key;
