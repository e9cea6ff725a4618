SELECT
    status = 'done' AS done,
    coalesce(charge_id, 0) AS charge_id
FROM lab.claims
WHERE idempotency_key = $1;
