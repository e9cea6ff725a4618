WITH fulfilled AS (
    SELECT count(*) AS times
    FROM webhook.courses
    GROUP BY payment_id
    UNION ALL
    SELECT count(*) AS times
    FROM webhook.invoices
    GROUP BY payment_id
)
SELECT
    count(*) AS events,
    count(*) FILTER (WHERE times > 1) AS repeated,
    coalesce(sum(times), 0)::bigint AS times
FROM fulfilled;
