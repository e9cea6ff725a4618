INSERT INTO lab.seen_keys (idempotency_key, charge_id)
VALUES ($1, $2);
