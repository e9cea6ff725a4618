SELECT
    (SELECT count(*) FROM lab.idem) AS rows,
    pg_relation_size('lab.idem_pkey') AS index_bytes,
    pg_relation_size('lab.idem') AS table_bytes;
