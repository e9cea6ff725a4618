-- A payment is known by its key, else by its reference; with neither, each is one of its own.
WITH made AS (
    SELECT
        kind,
        amount_cents,
        key,
        reference,
        CASE
            WHEN key IS NOT NULL THEN 'key ' || key
            WHEN reference IS NOT NULL THEN 'reference ' || reference
            ELSE 'id ' || id::text
        END AS payment
    FROM processor.operations
    WHERE status = 'succeeded'
)
SELECT
    count(*) FILTER (WHERE kind = 'charge') AS charges,
    coalesce(sum(amount_cents) FILTER (WHERE kind = 'charge'), 0)::bigint AS charged_cents,
    count(DISTINCT key) FILTER (WHERE kind = 'charge') AS keys,
    count(DISTINCT reference) FILTER (WHERE kind = 'charge') AS reference_count,
    count(*) FILTER (WHERE kind = 'charge') - count(DISTINCT payment) FILTER (WHERE kind = 'charge') AS duplicates,
    count(reference) FILTER (WHERE kind = 'charge') - count(DISTINCT reference) FILTER (WHERE kind = 'charge') AS duplicate_references,
    count(*) FILTER (WHERE kind = 'refund') AS refunds,
    count(*) FILTER (WHERE kind = 'refund') - count(DISTINCT payment) FILTER (WHERE kind = 'refund') AS duplicate_refunds
FROM made;
