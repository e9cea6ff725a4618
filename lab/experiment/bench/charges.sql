SELECT
    count(*) AS charges,
    count(DISTINCT idempotency_key) AS keys_charged
FROM lab.charges;
