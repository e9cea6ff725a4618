-- Locks nothing that exists: it creates schema idem, its table keys and two functions.

CREATE SCHEMA idem;

COMMENT ON SCHEMA idem IS 'Idempotency keys (pgidem): who may run a request, and the answer that every retry gets.';

CREATE FUNCTION idem.schema_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT 1';

COMMENT ON FUNCTION idem.schema_version() IS 'The number of the newest migration applied; Store.Check compares it with the one its binary was built for.';

-- Completions that must stop a transaction call this: an error in SQL cannot be ignored by the caller, a row count can.
CREATE FUNCTION idem.lease_lost() RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE
    AS $$
BEGIN
    RAISE EXCEPTION 'the lease on this idempotency key is lost: its row is finished, given back or held under another fence'
        USING ERRCODE = 'IDM01',
              HINT = 'Roll back: another holder owns the key, and its answer is the one that counts.';
END
$$;

COMMENT ON FUNCTION idem.lease_lost() IS 'Raises SQLSTATE IDM01, so that a transaction whose lease is gone cannot commit.';

-- The columns of fixed width come first, the widest leading, so that no padding stands between them (8 bytes a row saved
-- against the order of meaning); the key follows, then what may be NULL or long.
CREATE TABLE idem.keys (
    -- the claim
    fence           bigint      NOT NULL,
    claimed_at      timestamptz NOT NULL,
    locked_until    timestamptz,
    -- the life
    created_at      timestamptz NOT NULL,
    completed_at    timestamptz,
    expires_at      timestamptz NOT NULL,
    claim_id        uuid        NOT NULL,
    attempts        integer     NOT NULL,
    response_status integer,
    leased          boolean     NOT NULL,
    -- the identity: the tenant leads, so that the table shards by tenant; "C", so that a libc upgrade cannot break uniqueness
    tenant_id       text        COLLATE "C" NOT NULL,
    endpoint        text        COLLATE "C" NOT NULL,
    key             text        COLLATE "C" NOT NULL,
    status          text        COLLATE "C" NOT NULL,
    -- the request
    fingerprint     bytea       NOT NULL,
    handler         text,
    request         bytea,
    -- the answer: bytea, because jsonb refuses \u0000 and does not keep bytes; compressed where it is long, because EXTERNAL
    -- takes three times the WAL and disk (docs/benchmarks.md; go test -run '^$' -bench Storage ./idem)
    response_header bytea,
    response_body   bytea,
    provider_ref    text,

    CONSTRAINT keys_pkey PRIMARY KEY (tenant_id, endpoint, key),

    -- a btree row holds about 2,700 bytes; these stay far below it
    CONSTRAINT tenant_id_is_1_to_255_bytes CHECK (octet_length(tenant_id) BETWEEN 1 AND 255),
    CONSTRAINT endpoint_is_1_to_1024_bytes CHECK (octet_length(endpoint) BETWEEN 1 AND 1024),
    CONSTRAINT key_is_1_to_255_bytes CHECK (octet_length(key) BETWEEN 1 AND 255),
    CONSTRAINT fingerprint_has_a_version CHECK (octet_length(fingerprint) BETWEEN 1 AND 65),

    CONSTRAINT status_is_known CHECK (status IN ('in_flight', 'released', 'committed', 'failed')),
    CONSTRAINT fence_is_positive CHECK (fence > 0),
    CONSTRAINT attempts_are_counted CHECK (attempts > 0),
    CONSTRAINT only_a_key_in_flight_has_a_lease CHECK ((status = 'in_flight') = (locked_until IS NOT NULL)),
    CONSTRAINT only_a_finished_key_has_completed CHECK ((status IN ('committed', 'failed')) = (completed_at IS NOT NULL)),
    CONSTRAINT a_finished_key_is_not_leased CHECK (completed_at IS NULL OR NOT leased),
    CONSTRAINT a_finished_key_has_an_answer CHECK ((completed_at IS NULL) = (response_status IS NULL)
        AND (completed_at IS NULL) = (response_header IS NULL)),
    CONSTRAINT only_a_finished_key_has_a_body CHECK (completed_at IS NOT NULL OR response_body IS NULL),
    CONSTRAINT response_status_has_three_digits CHECK (response_status BETWEEN 0 AND 999)
)
-- Half of each page stays free, so that a completion finds room beside its claim: 100 % HOT at 50, see docs/benchmarks.md.
WITH (fillfactor = 50);

-- The sweep reads it in order. It keeps completions HOT, because a completion assigns expires_at its own value (greatest).
CREATE INDEX keys_expires_at ON idem.keys (expires_at);

-- Finds abandoned keys. Its columns and predicate never change while a key is extended, so heartbeats stay HOT, and atomic
-- mode, where leased is false, does not touch it at all. With locked_until in it every heartbeat writes a new index entry, and
-- atomic completions are no longer HOT either (docs/benchmarks.md; go test -run '^$' -bench Index ./idem).
CREATE INDEX keys_leased ON idem.keys (created_at) WHERE leased;

COMMENT ON TABLE idem.keys IS 'One row an idempotency key: who holds it, for which request, and what was answered.';
COMMENT ON COLUMN idem.keys.fence IS 'Rises with every claim of the key, also over release and retention; every write of a holder names it.';
COMMENT ON COLUMN idem.keys.claimed_at IS 'When the present holder took the key.';
COMMENT ON COLUMN idem.keys.locked_until IS 'End of the lease: the key is held while it is ahead and abandoned once it is past. NULL unless in_flight.';
COMMENT ON COLUMN idem.keys.created_at IS 'Start of this life of the key: a claim of an expired or released key starts a new one.';
COMMENT ON COLUMN idem.keys.completed_at IS 'When the answer was recorded. NULL until then.';
COMMENT ON COLUMN idem.keys.expires_at IS 'A finished key past this time is new again and may be swept. Unfinished keys do not expire.';
COMMENT ON COLUMN idem.keys.claim_id IS 'Random, made by the caller for each claim: how a claim or completion whose answer was lost is known again.';
COMMENT ON COLUMN idem.keys.attempts IS 'How many claims this life of the key has seen.';
COMMENT ON COLUMN idem.keys.response_status IS 'Status of the answer; 0 where the caller has none. NULL until finished.';
COMMENT ON COLUMN idem.keys.leased IS 'True in lease mode until finished or given back without steps: the keys that an operator or the completer may have to look at.';
COMMENT ON COLUMN idem.keys.tenant_id IS 'Whose key it is: two tenants never meet. 1 to 255 bytes.';
COMMENT ON COLUMN idem.keys.endpoint IS 'What the key is for; * where a tenant''s keys are shared by all endpoints. 1 to 1024 bytes.';
COMMENT ON COLUMN idem.keys.key IS 'The idempotency key as the client sent it. 1 to 255 bytes.';
COMMENT ON COLUMN idem.keys.status IS 'in_flight, released (given back, nothing in doubt), committed or failed (a definitive refusal, also replayed).';
COMMENT ON COLUMN idem.keys.fingerprint IS 'Identifies the request: a version byte and a digest. Another fingerprint under the same key is a mismatch.';
COMMENT ON COLUMN idem.keys.handler IS 'Name of the work that can finish the key in the background. NULL where none can.';
COMMENT ON COLUMN idem.keys.request IS 'The request as the handler needs it to run again. NULL where it is not kept.';
COMMENT ON COLUMN idem.keys.response_header IS 'Header of the answer as on the wire: "Name: value" lines ended by CR LF. NULL until finished.';
COMMENT ON COLUMN idem.keys.response_body IS 'Body of the answer, byte for byte. NULL until finished, and where it was too large or streamed.';
COMMENT ON COLUMN idem.keys.provider_ref IS 'The downstream''s own name for the effect, for instance a charge id.';
COMMENT ON INDEX idem.keys_expires_at IS 'The order of the sweep.';
COMMENT ON INDEX idem.keys_leased IS 'The keys of lease mode that are not finished, oldest first: among them the abandoned ones.';
