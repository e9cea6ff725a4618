INSERT INTO shop.items (tenant_id, order_id, note, cents)
VALUES ($1, $2, $3, $4)
RETURNING id;
