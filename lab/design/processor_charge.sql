-- No row comes back for a key that has been charged.
INSERT INTO lab.processor_charges (downstream_key, idempotency_key, customer, amount_cents)
VALUES ($1, $2, $3, $4)
ON CONFLICT (downstream_key) DO NOTHING
RETURNING id;
