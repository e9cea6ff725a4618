-- Takes SHARE ROW EXCLUSIVE on idem.keys for a moment (the foreign key); it creates table steps.

CREATE OR REPLACE FUNCTION idem.schema_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT 2';

-- Fixed width first, then the parent's key in the parent's order, so that the table shards beside it.
CREATE TABLE idem.steps (
    -- the run
    begun_at    timestamptz NOT NULL,
    finished_at timestamptz,
    position    integer     NOT NULL,
    -- the identity
    tenant_id   text        COLLATE "C" NOT NULL,
    endpoint    text        COLLATE "C" NOT NULL,
    key         text        COLLATE "C" NOT NULL,
    name        text        COLLATE "C" NOT NULL,
    -- the result
    output      bytea,

    CONSTRAINT steps_pkey PRIMARY KEY (tenant_id, endpoint, key, name),
    CONSTRAINT steps_key_fkey FOREIGN KEY (tenant_id, endpoint, key) REFERENCES idem.keys ON DELETE CASCADE,
    CONSTRAINT name_is_1_to_255_bytes CHECK (octet_length(name) BETWEEN 1 AND 255),
    CONSTRAINT position_is_counted_from_1 CHECK (position > 0),
    CONSTRAINT only_a_finished_step_has_output CHECK ((finished_at IS NULL) = (output IS NULL))
);

COMMENT ON TABLE idem.steps IS 'Recovery points: one row a step of a key, written when it begins and again when its output is known.';
COMMENT ON COLUMN idem.steps.begun_at IS 'When the step was announced, before its effect was asked for.';
COMMENT ON COLUMN idem.steps.finished_at IS 'When its output was recorded. NULL: it began, and what it did is unknown.';
COMMENT ON COLUMN idem.steps.position IS 'Place of the step in its handler, from 1.';
COMMENT ON COLUMN idem.steps.tenant_id IS 'See idem.keys.';
COMMENT ON COLUMN idem.steps.endpoint IS 'See idem.keys.';
COMMENT ON COLUMN idem.steps.key IS 'See idem.keys.';
COMMENT ON COLUMN idem.steps.name IS 'Name of the step, unique within its key because the downstream key is derived from it. 1 to 255 bytes.';
COMMENT ON COLUMN idem.steps.output IS 'What the step returned, replayed to every later run. NULL until finished.';
