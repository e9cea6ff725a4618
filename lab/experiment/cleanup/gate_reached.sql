SELECT count(*) > 0 AS reached
FROM pg_locks
WHERE locktype = 'advisory'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND objid = $1::bigint::oid
  AND NOT granted;
