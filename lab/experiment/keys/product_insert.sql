-- Rows as Store.Do leaves them, many in a statement: through the product each would take a transaction of its own.
EXPLAIN (ANALYZE, BUFFERS, WAL, TIMING OFF, SUMMARY OFF, FORMAT JSON)
INSERT INTO idem.keys (
    fence,
    claimed_at,
    created_at,
    completed_at,
    expires_at,
    claim_id,
    attempts,
    response_status,
    leased,
    tenant_id,
    endpoint,
    key,
    status,
    fingerprint,
    response_header,
    response_body
)
SELECT
    1,
    statement_timestamp(),
    statement_timestamp(),
    statement_timestamp(),
    statement_timestamp() + interval '24 hours',
    gen_random_uuid(),
    1,
    201,
    false,
    'lab',
    'POST /payments',
    new.key,
    'committed',
    '\x01'::bytea || sha256(new.key::bytea),
    '',
    '1'
FROM unnest($1::text[]) AS new (key)
ON CONFLICT DO NOTHING;
