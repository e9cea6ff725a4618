-- No row comes back for a key that is there: somebody else has it.
INSERT INTO lab.claims (idempotency_key)
VALUES ($1)
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING idempotency_key;
