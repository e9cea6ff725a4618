-- Takes ACCESS EXCLUSIVE on idem.keys while it reads the whole table, some seconds a million rows; rewrites nothing (docs/operations.md).

CREATE OR REPLACE FUNCTION idem.schema_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT 5';

-- The same 13 constraints as before, on a domain over what they read. PostgreSQL parses and plans each CHECK of a table once a
-- statement that writes it, but a domain's once a session: KeyClaim takes 25 µs instead of 55, KeyCompleteTx 21 instead of 42.
-- Answers stand in it as "there is one", so that a long body is not copied to be looked at.
CREATE TYPE idem.key_state AS (
    fence           bigint,
    locked_until    timestamptz,
    completed_at    timestamptz,
    attempts        integer,
    response_status integer,
    leased          boolean,
    tenant_id       text COLLATE "C",
    endpoint        text COLLATE "C",
    key             text COLLATE "C",
    status          text COLLATE "C",
    fingerprint     bytea,
    has_header      boolean,
    has_body        boolean
);

COMMENT ON TYPE idem.key_state IS 'What the constraints of idem.keys read of a row.';

-- To change a rule make another domain and another CHECK on it: ALTER DOMAIN does not look at the rows that stand.
CREATE DOMAIN idem.possible_key AS idem.key_state
    -- a btree row holds about 2,700 bytes; these stay far below it
    CONSTRAINT tenant_id_is_1_to_255_bytes CHECK (octet_length((VALUE).tenant_id) BETWEEN 1 AND 255)
    CONSTRAINT endpoint_is_1_to_1024_bytes CHECK (octet_length((VALUE).endpoint) BETWEEN 1 AND 1024)
    CONSTRAINT key_is_1_to_255_bytes CHECK (octet_length((VALUE).key) BETWEEN 1 AND 255)
    CONSTRAINT fingerprint_has_a_version CHECK (octet_length((VALUE).fingerprint) BETWEEN 1 AND 65)

    CONSTRAINT status_is_known CHECK ((VALUE).status IN ('in_flight', 'released', 'committed', 'failed'))
    CONSTRAINT fence_is_positive CHECK ((VALUE).fence > 0)
    CONSTRAINT attempts_are_counted CHECK ((VALUE).attempts > 0)
    CONSTRAINT only_a_key_in_flight_has_a_lease CHECK (((VALUE).status = 'in_flight') = ((VALUE).locked_until IS NOT NULL))
    CONSTRAINT only_a_finished_key_has_completed CHECK (((VALUE).status IN ('committed', 'failed')) = ((VALUE).completed_at IS NOT NULL))
    CONSTRAINT a_finished_key_is_not_leased CHECK ((VALUE).completed_at IS NULL OR NOT (VALUE).leased)
    CONSTRAINT a_finished_key_has_an_answer CHECK (((VALUE).completed_at IS NULL) = ((VALUE).response_status IS NULL)
        AND ((VALUE).completed_at IS NOT NULL) = (VALUE).has_header)
    CONSTRAINT only_a_finished_key_has_a_body CHECK ((VALUE).completed_at IS NOT NULL OR NOT (VALUE).has_body)
    CONSTRAINT response_status_has_three_digits CHECK ((VALUE).response_status BETWEEN 0 AND 999);

COMMENT ON DOMAIN idem.possible_key IS 'Refuses, with SQLSTATE 23514 and the name of the rule, every state that a row of idem.keys must not be in.';

-- IS DISTINCT FROM NULL is always true here: the work is in the cast. IS NOT NULL would ask every field.
ALTER TABLE idem.keys
    ADD CONSTRAINT key_is_possible CHECK (ROW(
        fence,
        locked_until,
        completed_at,
        attempts,
        response_status,
        leased,
        tenant_id,
        endpoint,
        key,
        status,
        fingerprint,
        response_header IS NOT NULL,
        response_body IS NOT NULL
    )::idem.possible_key IS DISTINCT FROM NULL),
    DROP CONSTRAINT tenant_id_is_1_to_255_bytes,
    DROP CONSTRAINT endpoint_is_1_to_1024_bytes,
    DROP CONSTRAINT key_is_1_to_255_bytes,
    DROP CONSTRAINT fingerprint_has_a_version,
    DROP CONSTRAINT status_is_known,
    DROP CONSTRAINT fence_is_positive,
    DROP CONSTRAINT attempts_are_counted,
    DROP CONSTRAINT only_a_key_in_flight_has_a_lease,
    DROP CONSTRAINT only_a_finished_key_has_completed,
    DROP CONSTRAINT a_finished_key_is_not_leased,
    DROP CONSTRAINT a_finished_key_has_an_answer,
    DROP CONSTRAINT only_a_finished_key_has_a_body,
    DROP CONSTRAINT response_status_has_three_digits;

COMMENT ON CONSTRAINT key_is_possible ON idem.keys IS 'The rules themselves, with their names, stand on domain idem.possible_key.';
