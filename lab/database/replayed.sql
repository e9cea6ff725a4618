-- Reports whether a standby shows what a primary had confirmed when it said so.
SELECT coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false);
