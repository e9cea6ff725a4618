INSERT INTO shop.seen_keys (tenant_id, key, response)
VALUES ($1, $2, $3);
