-- Locks nothing that exists: it creates table audit and view overview.

CREATE OR REPLACE FUNCTION idem.schema_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT 3';

-- A sequence is fine here: nothing on the hot path writes this table.
CREATE TABLE idem.audit (
    -- when and by whom
    id        bigint      GENERATED ALWAYS AS IDENTITY,
    at        timestamptz NOT NULL DEFAULT statement_timestamp(),
    who       text        NOT NULL,
    -- what, to which key, and why
    what      text        NOT NULL,
    tenant_id text        COLLATE "C" NOT NULL,
    endpoint  text        COLLATE "C" NOT NULL,
    key       text        COLLATE "C" NOT NULL,
    reason    text        NOT NULL,

    CONSTRAINT audit_pkey PRIMARY KEY (id),
    CONSTRAINT who_is_named CHECK (who <> ''),
    CONSTRAINT what_is_named CHECK (what <> ''),
    CONSTRAINT reason_is_given CHECK (reason <> '')
);

COMMENT ON TABLE idem.audit IS 'What operators did to keys by hand. Rows stay when the key is gone.';
COMMENT ON COLUMN idem.audit.id IS 'Orders rows of one moment.';
COMMENT ON COLUMN idem.audit.at IS 'When, by the database''s clock.';
COMMENT ON COLUMN idem.audit.who IS 'Who did it.';
COMMENT ON COLUMN idem.audit.what IS 'What was done: settle, release or forget.';
COMMENT ON COLUMN idem.audit.tenant_id IS 'The tenant of the key.';
COMMENT ON COLUMN idem.audit.endpoint IS 'The endpoint of the key.';
COMMENT ON COLUMN idem.audit.key IS 'The key.';
COMMENT ON COLUMN idem.audit.reason IS 'Why, in the operator''s words.';

CREATE VIEW idem.overview AS
SELECT
    k.tenant_id,
    k.endpoint,
    CASE
        WHEN k.status <> 'in_flight' THEN k.status
        WHEN k.locked_until > statement_timestamp() THEN 'held'
        ELSE 'abandoned'
    END AS state,
    count(*) AS keys,
    count(*) FILTER (WHERE k.completed_at IS NOT NULL AND k.expires_at <= statement_timestamp()) AS expired,
    min(k.created_at) AS oldest_created_at,
    max(k.completed_at) AS newest_completed_at
FROM idem.keys AS k
GROUP BY 1, 2, 3;

COMMENT ON VIEW idem.overview IS 'One line a tenant, endpoint and state: the stable face for dashboards. Reads the whole table.';
COMMENT ON COLUMN idem.overview.tenant_id IS 'See idem.keys.';
COMMENT ON COLUMN idem.overview.endpoint IS 'See idem.keys.';
COMMENT ON COLUMN idem.overview.state IS 'held (its lease runs), abandoned (its lease is past), released, committed or failed.';
COMMENT ON COLUMN idem.overview.keys IS 'How many keys are in this state.';
COMMENT ON COLUMN idem.overview.expired IS 'How many of them are finished and past their retention: what the next sweep deletes.';
COMMENT ON COLUMN idem.overview.oldest_created_at IS 'When the oldest of them began its life.';
COMMENT ON COLUMN idem.overview.newest_completed_at IS 'When the newest of them finished; NULL where none has.';
