-- Finished keys as the product leaves them, in the order in which they were finished, each under a random key.
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
    (extract(epoch FROM at) * 1000000)::bigint,
    at,
    at,
    at,
    at + interval '24 hours',
    gen_random_uuid(),
    1,
    201,
    false,
    'lab',
    'POST /payments',
    gen_random_uuid()::text,
    'committed',
    '\x01'::bytea || sha256(i::text::bytea),
    '',
    convert_to(repeat('0123456789', 10), 'UTF8')
FROM generate_series($1::bigint, $2::bigint) AS i
-- $3 is how many seconds ago the first of them was claimed; a thousand are finished in a second
CROSS JOIN LATERAL (
    SELECT statement_timestamp() - $3::double precision * interval '1 second' + i * interval '1 millisecond' AS at
) AS moment;
