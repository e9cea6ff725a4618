-- The keys that are known, of the article's claim and of the product, and whether they are finished.
SELECT
    idempotency_key AS key,
    status = 'done' AS finished
FROM lab.claims
UNION ALL
SELECT
    key,
    status IN ('committed', 'failed') AS finished
FROM idem.keys;
