SELECT
    (SELECT count(*) FROM idem.keys) AS rows,
    pg_relation_size('idem.keys_pkey') AS index_bytes,
    pg_relation_size('idem.keys') AS table_bytes;
