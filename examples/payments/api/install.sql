-- The shop's own tables, beside the product's schema idem. Running this again changes nothing.

SELECT pg_catalog.pg_advisory_xact_lock(x'73686f70'::integer); -- "shop": two programs that start at once take turns

CREATE SCHEMA IF NOT EXISTS shop;

CREATE TABLE IF NOT EXISTS shop.orders (
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    amount_cents bigint      NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT statement_timestamp(),
    tenant_id    text        COLLATE "C" NOT NULL,
    course       text        NOT NULL,
    customer     text        NOT NULL,

    CONSTRAINT orders_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE shop.orders IS 'One row an order. It has no unique key on purpose: what stands here is what the handlers did.';

CREATE TABLE IF NOT EXISTS shop.charges (
    amount_cents   bigint      NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT statement_timestamp(),
    downstream_key uuid        NOT NULL,
    tenant_id      text        COLLATE "C" NOT NULL,
    id             text        COLLATE "C" NOT NULL,
    refund_of      text        COLLATE "C" NULL,

    CONSTRAINT charges_pkey PRIMARY KEY (id),
    -- belt and braces: the processor refuses a repeated key, and so does this (articles 000 and 003)
    CONSTRAINT a_downstream_key_charges_once UNIQUE (downstream_key)
);

COMMENT ON TABLE shop.charges IS 'The shop''s books: one row a charge or refund at the processor.';
COMMENT ON COLUMN shop.charges.id IS 'The processor''s name for it: ch_1, re_2.';

CREATE TABLE IF NOT EXISTS shop.seen_keys (
    tenant_id text  COLLATE "C" NOT NULL,
    key       text  COLLATE "C" NOT NULL,
    response  bytea NOT NULL
);

CREATE INDEX IF NOT EXISTS seen_keys_key ON shop.seen_keys (tenant_id, key);

COMMENT ON TABLE shop.seen_keys IS 'What --guard=check-then-act remembers (article 004). A unique index would turn its second charge into an error, after the charge.';
