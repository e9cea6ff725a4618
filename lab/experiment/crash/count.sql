-- A payment is known by the key that its customer made, which the processor is told as the reference: one that was taken under two
-- keys, or without any, is counted twice.
WITH charged AS (
    SELECT idempotency_key
    FROM lab.charges
    UNION ALL
    SELECT reference
    FROM processor.operations
    WHERE kind = 'charge'
      AND status = 'succeeded'
)
SELECT
    count(*) AS charges,
    count(DISTINCT idempotency_key) AS payments_charged,
    (SELECT count(*) FROM lab.claims WHERE status = 'pending') AS pending
FROM charged;
