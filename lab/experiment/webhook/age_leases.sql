-- An hour passes for whoever holds one of the product's keys.
UPDATE idem.keys
SET
    claimed_at = claimed_at - interval '1 hour',
    locked_until = locked_until - interval '1 hour',
    created_at = created_at - interval '1 hour',
    expires_at = expires_at - interval '1 hour'
WHERE status = 'in_flight';
