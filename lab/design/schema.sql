-- What the designs write and the experiments count, beside the product's schema idem.

CREATE SCHEMA lab;

-- The charges of every design that charges by a row in this database. Its index on the key is not unique, on purpose: a count
-- is then what the handler did, not what a second constraint rescued it from (article 000). In production, make it unique.
CREATE TABLE lab.charges (
    id              bigint      GENERATED ALWAYS AS IDENTITY,
    amount_cents    integer     NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    idempotency_key text        COLLATE "C" NOT NULL,
    customer        text        NOT NULL,

    CONSTRAINT charges_pkey PRIMARY KEY (id)
);

CREATE INDEX charges_idempotency_key ON lab.charges (idempotency_key);

COMMENT ON TABLE lab.charges IS 'One row a charge; several with one key are a customer who paid more than once.';

-- Where check-then-act remembers what it has seen. A unique index would turn its duplicates into errors, after the charge.
CREATE TABLE lab.seen_keys (
    charge_id       bigint      NOT NULL,
    idempotency_key text        COLLATE "C" NOT NULL
);

CREATE INDEX seen_keys_idempotency_key ON lab.seen_keys (idempotency_key);

COMMENT ON TABLE lab.seen_keys IS 'The keys that check-then-act has finished, and the charge that it answers with.';

-- The pretended card processor's own records: it refuses to repeat a key (article 003, the extra rule). It is told whose
-- payment it is as well, and that is not unique, so that a payment asked for under two keys is counted twice.
CREATE TABLE lab.processor_charges (
    id              bigint      GENERATED ALWAYS AS IDENTITY,
    amount_cents    integer     NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    downstream_key  text        COLLATE "C" NOT NULL,
    idempotency_key text        COLLATE "C" NOT NULL,
    customer        text        NOT NULL,

    CONSTRAINT processor_charges_pkey PRIMARY KEY (id),
    CONSTRAINT a_downstream_key_charges_once UNIQUE (downstream_key)
);

COMMENT ON TABLE lab.processor_charges IS 'One row a charge at the card processor, which stands outside the handler''s transaction.';

CREATE VIEW lab.charged AS
SELECT
    idempotency_key,
    amount_cents
FROM lab.charges
UNION ALL
SELECT
    idempotency_key,
    amount_cents
FROM lab.processor_charges;

COMMENT ON VIEW lab.charged IS 'All money that was taken, wherever: what an experiment counts.';
