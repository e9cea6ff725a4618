SELECT count(*) AS customers
FROM (
    SELECT idempotency_key
    FROM lab.charged
    GROUP BY idempotency_key
    HAVING count(*) > 1
) AS twice;
