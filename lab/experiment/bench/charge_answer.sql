-- The effect, and the answer of the key that this transaction has claimed.
WITH charge AS (
    INSERT INTO lab.charges (idempotency_key, customer, amount_cents)
    VALUES ($1, 'customer 1', 4900)
    RETURNING id
)
SELECT idem.answer(201, $2::bytea)
FROM charge;
