-- The effect: a row that takes the money.
INSERT INTO lab.charges (idempotency_key, customer, amount_cents)
VALUES ($1, 'customer 1', 4900)
RETURNING id;
