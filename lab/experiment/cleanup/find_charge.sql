SELECT id
FROM lab.processor_charges
WHERE idempotency_key = $1;
