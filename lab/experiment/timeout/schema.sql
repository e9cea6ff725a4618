-- What the parts need beside the product's schema and the lab's.

CREATE SCHEMA timeout;

CREATE TABLE timeout.carts (
    state text NOT NULL DEFAULT 'open',
    cart  text COLLATE "C" NOT NULL,

    CONSTRAINT carts_pkey PRIMARY KEY (cart),
    CONSTRAINT state_is_known CHECK (state IN ('open', 'bought', 'cancelled'))
);

COMMENT ON TABLE timeout.carts IS 'What the shop knows of its carts now.';

CREATE TABLE timeout.answers (
    status integer NOT NULL,
    key    text    COLLATE "C" NOT NULL
);

CREATE INDEX answers_key ON timeout.answers (key);

COMMENT ON TABLE timeout.answers IS 'The answers of designs that look first and store afterwards, as article 004''s handler does.';
