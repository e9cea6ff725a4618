-- Where there is a unique index on the payment, a second row does not come to be.
INSERT INTO webhook.invoices (payment_id)
VALUES ($1)
ON CONFLICT DO NOTHING;
