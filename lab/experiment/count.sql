SELECT
    count(*) AS charges,
    count(DISTINCT idempotency_key) AS payments_charged,
    coalesce(sum(amount_cents), 0)::bigint AS amount_cents
FROM lab.charged;
