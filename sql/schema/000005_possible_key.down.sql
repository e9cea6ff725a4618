-- Takes ACCESS EXCLUSIVE on idem.keys while it reads the whole table, some seconds a million rows; rewrites nothing (docs/operations.md).

ALTER TABLE idem.keys
    ADD CONSTRAINT tenant_id_is_1_to_255_bytes CHECK (octet_length(tenant_id) BETWEEN 1 AND 255),
    ADD CONSTRAINT endpoint_is_1_to_1024_bytes CHECK (octet_length(endpoint) BETWEEN 1 AND 1024),
    ADD CONSTRAINT key_is_1_to_255_bytes CHECK (octet_length(key) BETWEEN 1 AND 255),
    ADD CONSTRAINT fingerprint_has_a_version CHECK (octet_length(fingerprint) BETWEEN 1 AND 65),
    ADD CONSTRAINT status_is_known CHECK (status IN ('in_flight', 'released', 'committed', 'failed')),
    ADD CONSTRAINT fence_is_positive CHECK (fence > 0),
    ADD CONSTRAINT attempts_are_counted CHECK (attempts > 0),
    ADD CONSTRAINT only_a_key_in_flight_has_a_lease CHECK ((status = 'in_flight') = (locked_until IS NOT NULL)),
    ADD CONSTRAINT only_a_finished_key_has_completed CHECK ((status IN ('committed', 'failed')) = (completed_at IS NOT NULL)),
    ADD CONSTRAINT a_finished_key_is_not_leased CHECK (completed_at IS NULL OR NOT leased),
    ADD CONSTRAINT a_finished_key_has_an_answer CHECK ((completed_at IS NULL) = (response_status IS NULL)
        AND (completed_at IS NULL) = (response_header IS NULL)),
    ADD CONSTRAINT only_a_finished_key_has_a_body CHECK (completed_at IS NOT NULL OR response_body IS NULL),
    ADD CONSTRAINT response_status_has_three_digits CHECK (response_status BETWEEN 0 AND 999),
    DROP CONSTRAINT key_is_possible;

DROP DOMAIN idem.possible_key;
DROP TYPE idem.key_state;

CREATE OR REPLACE FUNCTION idem.schema_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT 4';
