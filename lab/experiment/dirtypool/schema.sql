-- What the two handlers write and lock.

CREATE SCHEMA dirty_pool;

CREATE TABLE dirty_pool.writes (
    id      bigint      GENERATED ALWAYS AS IDENTITY,
    handler text        NOT NULL,

    CONSTRAINT writes_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE dirty_pool.writes IS 'One row an INSERT that was not rolled back, by the handler that sent it.';

CREATE TABLE dirty_pool.stock (
    id      bigint      NOT NULL,
    pieces  integer     NOT NULL,

    CONSTRAINT stock_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE dirty_pool.stock IS 'The one row that handler A locks because it means to change it.';

INSERT INTO dirty_pool.stock (id, pieces)
VALUES (1, 1);
