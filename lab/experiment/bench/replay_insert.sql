-- The first half of a replay as it is written by hand: a claim that finds its key. Unguarded, as everybody writes it.
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
    fingerprint
)
VALUES (
    1,
    statement_timestamp(),
    statement_timestamp() + interval '90 seconds',
    statement_timestamp(),
    statement_timestamp() + interval '24 hours',
    $1,
    1,
    true,
    $2,
    $3,
    $4,
    'in_flight',
    $5
)
ON CONFLICT (tenant_id, endpoint, key) DO NOTHING;
