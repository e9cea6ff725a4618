INSERT INTO cleanup.purchases (receipt, idempotency_key)
VALUES ($1, $2);
