SELECT
    fingerprint,
    response,
    response ->> 'chargeId' AS charge_id
FROM mismatch.keys
WHERE key = $1;
