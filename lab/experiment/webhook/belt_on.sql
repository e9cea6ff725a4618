CREATE UNIQUE INDEX a_payment_opens_one_course ON webhook.courses (payment_id);
CREATE UNIQUE INDEX a_payment_has_one_invoice ON webhook.invoices (payment_id);
