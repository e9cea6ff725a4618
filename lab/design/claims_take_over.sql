-- No row comes back unless the key has been pending for longer than its owner may take.
UPDATE lab.claims
SET claimed_at = statement_timestamp()
WHERE idempotency_key = $1
  AND status = 'pending'
  AND claimed_at < statement_timestamp() - $2::interval
RETURNING idempotency_key;
