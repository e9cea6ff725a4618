SELECT
    count(*) FILTER (WHERE times > 1) AS again,
    count(*) FILTER (WHERE times = 1) AS once
FROM (
    SELECT count(*) AS times
    FROM lab.charged
    WHERE idempotency_key = ANY ($1)
    GROUP BY idempotency_key
) AS charges;
