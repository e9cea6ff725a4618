SELECT response
FROM shop.seen_keys
WHERE tenant_id = $1
  AND key = $2
LIMIT 1;
