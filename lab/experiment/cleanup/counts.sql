-- How often each key was charged, here and at the processor.
WITH charged AS (
    SELECT idempotency_key
    FROM cleanup.purchases
    WHERE starts_with(idempotency_key, $1)
    UNION ALL
    SELECT idempotency_key
    FROM lab.processor_charges
    WHERE starts_with(idempotency_key, $1)
),
each AS (
    SELECT count(*) AS times
    FROM charged
    GROUP BY idempotency_key
)
SELECT
    coalesce(sum(times), 0)::integer AS charges,
    (count(*) FILTER (WHERE times > 1))::integer AS twice
FROM each;
