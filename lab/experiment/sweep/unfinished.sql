-- Keys that no sweep may delete: held ones, and every eleventh abandoned by its holder, all long past their retention.
INSERT INTO idem.keys (
    fence,
    claimed_at,
    locked_until,
    created_at,
    expires_at,
    claim_id,
    attempts,
    leased,
    tenant_id,
    endpoint,
    key,
    status,
    fingerprint,
    handler
)
SELECT
    i,
    at,
    CASE WHEN i % 11 = 0 THEN at + interval '90 seconds' ELSE statement_timestamp() + interval '24 hours' END,
    at,
    at + interval '24 hours',
    gen_random_uuid(),
    1,
    true,
    'lab',
    'POST /payments',
    'unfinished ' || i,
    'in_flight',
    '\x01'::bytea || sha256(i::text::bytea),
    'charge'
FROM generate_series(1, $1::bigint) AS i
CROSS JOIN LATERAL (
    SELECT statement_timestamp() - interval '3 days' + i * interval '1 second' AS at
) AS moment;
