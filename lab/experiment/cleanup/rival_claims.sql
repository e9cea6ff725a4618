INSERT INTO cleanup.idempotency_keys (key, status)
VALUES ($1, 'in_progress');
