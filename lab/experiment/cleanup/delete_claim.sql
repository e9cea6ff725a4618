DELETE FROM cleanup.idempotency_keys
WHERE key = $1;
