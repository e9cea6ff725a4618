INSERT INTO mismatch.movements (idempotency_key, kind, amount_cents)
VALUES ($1, $2, $3)
RETURNING id;
