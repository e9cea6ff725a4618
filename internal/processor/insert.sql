-- No row comes back for a key that is refused.
INSERT INTO processor.operations (kind, key, refuses, amount_cents, currency, card, charge, reference, status)
VALUES ($1, nullif($2, ''), $3, $4, $5, nullif($6, ''), $7, nullif($8, ''), $9)
ON CONFLICT (kind, key) WHERE refuses DO NOTHING
RETURNING id;
