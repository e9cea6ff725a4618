-- All that a server of one's own counts.
SELECT
    (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS commits,
    pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS wal_bytes,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS transaction_ids,
    (SELECT coalesce(sum(n_tup_upd), 0)::bigint FROM pg_stat_user_tables) AS updates,
    (SELECT coalesce(sum(n_tup_hot_upd), 0)::bigint FROM pg_stat_user_tables) AS hot_updates,
    (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables) AS dead_tuples;
