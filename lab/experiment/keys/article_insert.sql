-- Claims as article 003 makes them, many in a statement, each with its answer already.
EXPLAIN (ANALYZE, BUFFERS, WAL, TIMING OFF, SUMMARY OFF, FORMAT JSON)
INSERT INTO lab.idem (key, status, response)
SELECT
    new.key,
    'done',
    '{"charge": 1}'
FROM unnest($1::text[]) AS new (key)
ON CONFLICT DO NOTHING;
