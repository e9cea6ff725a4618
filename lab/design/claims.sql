-- The keys of article 003's designs that keep them in PostgreSQL. Running this again changes nothing.
CREATE TABLE IF NOT EXISTS lab.claims (
    charge_id       bigint      NULL,
    claimed_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    status          text        NOT NULL DEFAULT 'pending',
    idempotency_key text        COLLATE "C" NOT NULL,

    CONSTRAINT claims_pkey PRIMARY KEY (idempotency_key),
    CONSTRAINT a_claim_is_pending_or_done CHECK (status = 'pending' OR status = 'done' AND charge_id IS NOT NULL)
);

COMMENT ON TABLE lab.claims IS 'One row a key: pending while somebody charges, or has died over it, and then done.';
