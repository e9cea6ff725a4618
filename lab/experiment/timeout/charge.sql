INSERT INTO lab.charges (idempotency_key, customer, amount_cents)
VALUES ($1, $2, $3)
RETURNING id;
