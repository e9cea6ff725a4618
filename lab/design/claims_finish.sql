UPDATE lab.claims
SET
    status = 'done',
    charge_id = $2
WHERE idempotency_key = $1;
