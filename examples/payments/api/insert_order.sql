INSERT INTO shop.orders (tenant_id, course, customer, amount_cents)
VALUES ($1, $2, $3, $4)
RETURNING id;
