-- An hour passes for whoever holds a claim.
UPDATE webhook.claims
SET claimed_at = claimed_at - interval '1 hour'
WHERE NOT done;
