-- Time passes for the product's keys of one endpoint.
UPDATE idem.keys
SET
    claimed_at = claimed_at - $2::interval,
    locked_until = locked_until - $2::interval,
    created_at = created_at - $2::interval,
    completed_at = completed_at - $2::interval,
    expires_at = expires_at - $2::interval
WHERE endpoint = $1;
