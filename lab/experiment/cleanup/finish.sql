UPDATE cleanup.idempotency_keys
SET status = 'completed'
WHERE key = $1;
