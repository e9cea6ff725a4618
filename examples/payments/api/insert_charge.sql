INSERT INTO shop.charges (tenant_id, id, refund_of, amount_cents, downstream_key)
VALUES ($1, $2, nullif($3, ''), $4, $5)
-- a repeat of what stands is no error: the processor answered with the first call's charge
ON CONFLICT (downstream_key) DO NOTHING;
