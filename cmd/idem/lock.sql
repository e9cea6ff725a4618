-- Takes the advisory lock of a migration if nobody holds it.
SELECT pg_try_advisory_lock(@lock::bigint)
