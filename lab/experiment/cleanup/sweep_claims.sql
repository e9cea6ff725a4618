-- The article's sweeper: what has been in progress for so long belongs to a process that died.
DELETE FROM cleanup.idempotency_keys
WHERE status = 'in_progress'
  AND created_at < statement_timestamp() - $1::interval;
