-- Those of the transaction that asks.
SELECT count(*) AS predicate_locks
FROM pg_locks
WHERE mode = 'SIReadLock'
  AND pid = pg_backend_pid();
