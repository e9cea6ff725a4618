ALTER TABLE cleanup.idempotency_keys
DROP CONSTRAINT status_is_known,
ADD CONSTRAINT status_is_known CHECK (status IN ('in_progress', 'completed'));
