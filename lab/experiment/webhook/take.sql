-- Claims a key that is new, or whose holder has been silent for too long. No row comes back for a key that is done or held.
INSERT INTO webhook.claims (key)
VALUES ($1)
ON CONFLICT (key) DO UPDATE
SET claimed_at = statement_timestamp()
WHERE NOT claims.done
  AND claims.claimed_at < statement_timestamp() - $2::interval
RETURNING key;
