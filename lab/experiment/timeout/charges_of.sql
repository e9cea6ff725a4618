SELECT count(*)
FROM lab.charged
WHERE idempotency_key = $1;
