SELECT charge_id
FROM lab.seen_keys
WHERE idempotency_key = $1
ORDER BY charge_id
LIMIT 1;
