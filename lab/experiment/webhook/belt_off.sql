DROP INDEX IF EXISTS webhook.a_payment_opens_one_course, webhook.a_payment_has_one_invoice;
