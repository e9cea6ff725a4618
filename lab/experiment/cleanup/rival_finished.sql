-- What a rival's whole call leaves in the product's table, past its retention where $5 is.
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
    began.at,
    began.at,
    began.at,
    began.at + interval '24 hours',
    gen_random_uuid(),
    1,
    201,
    false,
    $1::text,
    $2::text,
    $3::text,
    'committed',
    $4::bytea,
    '',
    'the rival''s'
FROM (
    SELECT CASE WHEN $5::boolean THEN statement_timestamp() - interval '2 days' ELSE statement_timestamp() END
) AS began (at);
