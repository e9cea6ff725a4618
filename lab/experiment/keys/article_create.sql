-- The table of article 003, with "C" as its collation, as in the product's.
CREATE TABLE lab.idem (
    key      text        COLLATE "C" NOT NULL,
    status   text        NOT NULL,
    response jsonb,
    created  timestamptz NOT NULL DEFAULT now(),

    CONSTRAINT idem_pkey PRIMARY KEY (key)
);
