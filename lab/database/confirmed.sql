-- Where the log ends of what was confirmed.
SELECT pg_current_wal_flush_lsn()::text;
