SELECT id
FROM lab.charges
WHERE idempotency_key = $1
ORDER BY id
LIMIT 1
FOR UPDATE;
