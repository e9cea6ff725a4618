-- How large the table of keys is, and what autovacuum thinks of it.
SELECT
    s.n_live_tup AS live_tuples,
    s.n_dead_tup AS dead_tuples,
    s.autovacuum_count AS autovacuums,
    pg_table_size(s.relid) AS table_bytes,
    pg_indexes_size(s.relid) AS index_bytes,
    s.n_dead_tup > current_setting('autovacuum_vacuum_threshold')::double precision
        + current_setting('autovacuum_vacuum_scale_factor')::double precision * greatest(c.reltuples, 0) AS is_due,
    EXISTS (SELECT 1 FROM pg_stat_progress_vacuum AS p WHERE p.relid = s.relid) AS is_at_work
FROM pg_stat_user_tables AS s
JOIN pg_class AS c
  ON c.oid = s.relid
WHERE s.relid = 'idem.keys'::regclass;
