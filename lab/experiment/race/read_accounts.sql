SELECT sum(balance_cents)::bigint AS balance_cents
FROM race.accounts
WHERE id BETWEEN $1::bigint AND $1::bigint + 99;
