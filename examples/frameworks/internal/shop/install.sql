-- The shop's own table, beside the product's schema idem. Running this again changes nothing.

SELECT pg_catalog.pg_advisory_xact_lock(x'73686f70'::integer); -- "shop": two programs that start at once take turns

CREATE SCHEMA IF NOT EXISTS shop;

CREATE TABLE IF NOT EXISTS shop.items (
    -- above 2^53, where numbers that pass through a float64 lose their last digit
    id         bigint      GENERATED ALWAYS AS IDENTITY (START WITH 9007199254740993),
    cents      bigint      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    tenant_id  text        COLLATE "C" NOT NULL,
    order_id   text        COLLATE "C" NOT NULL,
    note       text        NOT NULL,

    CONSTRAINT items_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE shop.items IS 'One row an item of an order. It has no unique key on purpose: what stands here is what the handlers did.';
