SELECT
    count(*) AS charges,
    count(DISTINCT idempotency_key) AS payments_charged
FROM lab.charged;
