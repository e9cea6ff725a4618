-- The first one, where repeats were not refused.
SELECT
    id,
    amount_cents,
    currency,
    coalesce(card, ''),
    charge,
    coalesce(reference, ''),
    status
FROM processor.operations
WHERE kind = $1
    AND key = $2
ORDER BY id
LIMIT 1;
