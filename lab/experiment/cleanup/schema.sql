-- Article 000's ledger of keys, and what a purchase leaves.

CREATE SCHEMA cleanup;

CREATE TABLE cleanup.idempotency_keys (
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    key        text        COLLATE "C" NOT NULL,
    status     text        NOT NULL,

    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (key),
    CONSTRAINT status_is_known CHECK (status IN ('in_progress', 'completed'))
);

COMMENT ON TABLE cleanup.idempotency_keys IS 'One row a claim. Its CHECK is the article''s: it does not know failed.';

CREATE TABLE cleanup.purchases (
    receipt         text        NOT NULL,
    idempotency_key text        COLLATE "C" NOT NULL,

    CONSTRAINT a_receipt_is_given_once PRIMARY KEY (receipt)
);

CREATE INDEX purchases_idempotency_key ON cleanup.purchases (idempotency_key);

COMMENT ON TABLE cleanup.purchases IS 'One row a purchase. A receipt that somebody else has is what the work fails with.';
