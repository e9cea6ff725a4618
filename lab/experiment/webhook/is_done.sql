SELECT done
FROM webhook.claims
WHERE key = $1;
