SELECT
    coalesce(sum(amount_cents) FILTER (WHERE kind = 'charge'), 0)::bigint AS charged_cents,
    coalesce(sum(amount_cents) FILTER (WHERE kind = 'refund'), 0)::bigint AS refunded_cents
FROM mismatch.movements
WHERE idempotency_key = $1;
