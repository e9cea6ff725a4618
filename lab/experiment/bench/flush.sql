-- What this connection has counted is to be seen by others once the statement has ended. Commits are told only together with the
-- use of a table: hence one.
SELECT pg_stat_force_next_flush()
FROM pg_namespace
WHERE nspname = 'idem';
