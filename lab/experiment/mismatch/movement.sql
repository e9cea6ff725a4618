SELECT
    kind,
    amount_cents
FROM mismatch.movements
WHERE id = $1;
