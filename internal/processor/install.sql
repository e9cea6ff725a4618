-- The card processor's own tables. They stand in a schema, better in a database, that its callers never touch. Running this
-- again changes nothing; two programs that start at once take turns.

SELECT pg_catalog.pg_advisory_xact_lock(x'70726f63'::integer); -- "proc"

CREATE SCHEMA IF NOT EXISTS processor;

CREATE TABLE IF NOT EXISTS processor.operations (
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    amount_cents bigint      NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT statement_timestamp(),

    -- Whether it was made by a processor that refuses to repeat its key.
    refuses      boolean     NOT NULL,

    kind         text        NOT NULL,
    status       text        NOT NULL,
    currency     text        NOT NULL,
    key          text        COLLATE "C" NULL,
    card         text        NULL,
    charge       bigint      NULL,
    reference    text        COLLATE "C" NULL,

    CONSTRAINT operations_pkey PRIMARY KEY (id),
    CONSTRAINT a_refund_gives_back_a_charge FOREIGN KEY (charge) REFERENCES processor.operations (id),
    CONSTRAINT an_operation_is_a_charge_or_a_refund CHECK (kind = 'charge' AND charge IS NULL OR kind = 'refund' AND charge IS NOT NULL),
    CONSTRAINT an_operation_succeeded_or_was_declined CHECK (status IN ('succeeded', 'declined')),
    CONSTRAINT an_amount_is_above_nothing CHECK (amount_cents > 0),
    CONSTRAINT only_a_key_is_refused CHECK (key IS NOT NULL OR NOT refuses)
);

-- The system that does what cannot be undone is the one that must refuse to repeat it (article 003, the extra rule).
CREATE UNIQUE INDEX IF NOT EXISTS a_refused_key_stands_once ON processor.operations (kind, key) WHERE refuses;

CREATE INDEX IF NOT EXISTS operations_key ON processor.operations (kind, key);

COMMENT ON TABLE processor.operations IS 'One row a charge or refund that was carried out, each committed by itself. Declined ones took no money.';
COMMENT ON COLUMN processor.operations.key IS 'The caller''s Idempotency-Key. Several rows have one where repeats are not refused.';
COMMENT ON COLUMN processor.operations.card IS 'As it was sent. There are no real cards here.';
COMMENT ON COLUMN processor.operations.reference IS 'The caller''s own word for the payment: two charges with one reference are a customer who paid twice.';
