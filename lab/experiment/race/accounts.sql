-- What the bystander reads: rows that no payment touches.
CREATE SCHEMA race;

CREATE TABLE race.accounts (
    id            bigint NOT NULL,
    balance_cents bigint NOT NULL,

    CONSTRAINT accounts_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE race.accounts IS 'Accounts that have nothing to do with payments.';

INSERT INTO race.accounts (id, balance_cents)
SELECT
    id,
    100
FROM generate_series(1, 100000) AS id;
