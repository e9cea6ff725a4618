UPDATE cleanup.idempotency_keys
SET created_at = created_at - $1::interval;
