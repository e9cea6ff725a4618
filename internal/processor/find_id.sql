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
    AND id = $2;
