-- Who holds the advisory lock of a migration.
SELECT
    a.pid,
    coalesce(a.application_name, '') AS application,
    coalesce(a.state_change, a.backend_start) AS since
FROM pg_locks AS l
JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory'
  AND l.granted
  AND l.objsubid = 1 -- a lock with one key of 64 bits
  AND (l.classid::bigint << 32) | l.objid::bigint = @lock::bigint
