UPDATE cleanup.idempotency_keys
SET status = 'failed'
WHERE key = $1;
