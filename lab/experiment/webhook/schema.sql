-- What the shop does for an event, and the ledgers in which receivers remember events.

CREATE SCHEMA webhook;

-- No unique index on the payment, on purpose: a count is then what the receiver did. The belt is put on for the designs that have it.
CREATE TABLE webhook.courses (
    opened_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    payment_id text        COLLATE "C" NOT NULL
);

COMMENT ON TABLE webhook.courses IS 'One row a time that a course was opened, for checkout.session.completed.';

CREATE TABLE webhook.invoices (
    booked_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    payment_id text        COLLATE "C" NOT NULL
);

COMMENT ON TABLE webhook.invoices IS 'One row a time that an invoice was entered in the books, for invoice.paid.';

-- A unique index would make a claim of it.
CREATE TABLE webhook.seen (
    key text COLLATE "C" NOT NULL
);

CREATE INDEX seen_key ON webhook.seen (key);

COMMENT ON TABLE webhook.seen IS 'The ledger that is only a SELECT.';

CREATE TABLE webhook.ledger (
    key text COLLATE "C" NOT NULL,

    CONSTRAINT ledger_pkey PRIMARY KEY (key)
);

COMMENT ON TABLE webhook.ledger IS 'The ledger whose row commits together with the work.';

CREATE TABLE webhook.claims (
    claimed_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    done       boolean     NOT NULL DEFAULT false,
    key        text        COLLATE "C" NOT NULL,

    CONSTRAINT claims_pkey PRIMARY KEY (key)
);

COMMENT ON TABLE webhook.claims IS 'The ledger whose row commits before the work: one that is not done for long has lost its holder.';
