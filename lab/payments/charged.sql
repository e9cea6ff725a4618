-- What was charged, with the example's programs: their orders and what their processor took. They are told the payment's key as
-- its customer or reference, which is not unique, so that a payment taken twice is counted twice.
CREATE OR REPLACE VIEW lab.charged AS
SELECT
    idempotency_key,
    amount_cents
FROM lab.charges
UNION ALL
SELECT
    idempotency_key,
    amount_cents
FROM lab.processor_charges
UNION ALL
SELECT
    customer AS idempotency_key,
    amount_cents::integer
FROM shop.orders
UNION ALL
SELECT
    reference AS idempotency_key,
    amount_cents::integer
FROM processor.operations
WHERE kind = 'charge'
  AND status = 'succeeded';
