-- Where the claim of article 003 keeps its keys, with room for an answer as the product stores one.
CREATE TABLE lab.by_hand (
    created  timestamptz NOT NULL DEFAULT statement_timestamp(),
    key      text        COLLATE "C" NOT NULL,
    status   text        NOT NULL DEFAULT 'pending',
    response bytea       NULL,

    CONSTRAINT by_hand_pkey PRIMARY KEY (key)
);
