UPDATE webhook.claims
SET done = true
WHERE key = $1;
