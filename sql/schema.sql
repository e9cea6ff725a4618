-- Schema idem as the migrations in sql/schema leave it, for reading. Made by make generate; do not edit.

-- Name: idem; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA idem;

COMMENT ON SCHEMA idem IS 'Idempotency keys (pgidem): who may run a request, and the answer that every retry gets.';

-- Name: key_state; Type: TYPE; Schema: idem; Owner: -

CREATE TYPE idem.key_state AS (
	fence bigint,
	locked_until timestamp with time zone,
	completed_at timestamp with time zone,
	attempts integer,
	response_status integer,
	leased boolean,
	tenant_id text COLLATE pg_catalog."C",
	endpoint text COLLATE pg_catalog."C",
	key text COLLATE pg_catalog."C",
	status text COLLATE pg_catalog."C",
	fingerprint bytea,
	has_header boolean,
	has_body boolean
);

COMMENT ON TYPE idem.key_state IS 'What the constraints of idem.keys read of a row.';

-- Name: possible_key; Type: DOMAIN; Schema: idem; Owner: -

CREATE DOMAIN idem.possible_key AS idem.key_state
	CONSTRAINT a_finished_key_has_an_answer CHECK (((((VALUE).completed_at IS NULL) = ((VALUE).response_status IS NULL)) AND (((VALUE).completed_at IS NOT NULL) = (VALUE).has_header)))
	CONSTRAINT a_finished_key_is_not_leased CHECK ((((VALUE).completed_at IS NULL) OR (NOT (VALUE).leased)))
	CONSTRAINT attempts_are_counted CHECK (((VALUE).attempts > 0))
	CONSTRAINT endpoint_is_1_to_1024_bytes CHECK (((octet_length((VALUE).endpoint) >= 1) AND (octet_length((VALUE).endpoint) <= 1024)))
	CONSTRAINT fence_is_positive CHECK (((VALUE).fence > 0))
	CONSTRAINT fingerprint_has_a_version CHECK (((octet_length((VALUE).fingerprint) >= 1) AND (octet_length((VALUE).fingerprint) <= 65)))
	CONSTRAINT key_is_1_to_255_bytes CHECK (((octet_length((VALUE).key) >= 1) AND (octet_length((VALUE).key) <= 255)))
	CONSTRAINT only_a_finished_key_has_a_body CHECK ((((VALUE).completed_at IS NOT NULL) OR (NOT (VALUE).has_body)))
	CONSTRAINT only_a_finished_key_has_completed CHECK ((((VALUE).status = ANY (ARRAY['committed'::text, 'failed'::text])) = ((VALUE).completed_at IS NOT NULL)))
	CONSTRAINT only_a_key_in_flight_has_a_lease CHECK ((((VALUE).status = 'in_flight'::text) = ((VALUE).locked_until IS NOT NULL)))
	CONSTRAINT response_status_has_three_digits CHECK ((((VALUE).response_status >= 0) AND ((VALUE).response_status <= 999)))
	CONSTRAINT status_is_known CHECK (((VALUE).status = ANY (ARRAY['in_flight'::text, 'released'::text, 'committed'::text, 'failed'::text])))
	CONSTRAINT tenant_id_is_1_to_255_bytes CHECK (((octet_length((VALUE).tenant_id) >= 1) AND (octet_length((VALUE).tenant_id) <= 255)));

COMMENT ON DOMAIN idem.possible_key IS 'Refuses, with SQLSTATE 23514 and the name of the rule, every state that a row of idem.keys must not be in.';

-- Name: answer(integer, bytea, bytea); Type: FUNCTION; Schema: idem; Owner: -

CREATE FUNCTION idem.answer(status integer, body bytea, header bytea DEFAULT '\x'::bytea) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- variables, because a sharded table wants its tenant as a parameter
    my_tenant_id text     := current_setting('idem.tenant_id', true);
    my_endpoint  text     := current_setting('idem.endpoint', true);
    my_key       text     := current_setting('idem.key', true);
    my_claim_id  uuid     := nullif(current_setting('idem.claim_id', true), ''); -- empty once a transaction that had it is over
    my_retention interval := nullif(current_setting('idem.retention', true), '');
    recorded_at  timestamptz;
BEGIN
    IF answer.status IS NULL OR answer.body IS NULL OR answer.header IS NULL THEN
        RAISE EXCEPTION 'idem.answer: status, body and header must not be NULL'
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'An empty body is ''''.';
    END IF;
    UPDATE idem.keys AS k
    SET
        locked_until = NULL,
        completed_at = statement_timestamp(),
        expires_at = greatest(k.expires_at, statement_timestamp() + my_retention),
        response_status = answer.status,
        leased = false,
        status = 'committed',
        response_header = answer.header,
        response_body = answer.body
    WHERE k.tenant_id = my_tenant_id
      AND k.endpoint = my_endpoint
      AND k.key = my_key
      AND k.claim_id = my_claim_id
      AND k.status = 'in_flight'
    RETURNING k.completed_at INTO recorded_at;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'idem.answer: this transaction has no idempotency key that waits for its answer'
            USING ERRCODE = 'IDM01',
                  HINT = 'Call it in a statement of DoBatch (package idem), once: over one row.';
    END IF;
    RETURN recorded_at;
END
$$;

COMMENT ON FUNCTION idem.answer(status integer, body bytea, header bytea) IS 'Records the answer of the key that this batch claimed (DoBatch in package idem), and returns when: status 0 to 999, body byte for byte, header as "Name: value" lines ended by CR LF. Raises SQLSTATE IDM01 where no key waits for its answer: outside a batch, and the second time.';

-- Name: lease_lost(); Type: FUNCTION; Schema: idem; Owner: -

CREATE FUNCTION idem.lease_lost() RETURNS timestamp with time zone
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'the lease on this idempotency key is lost: its row is finished, given back or held under another fence'
        USING ERRCODE = 'IDM01',
              HINT = 'Roll back: another holder owns the key, and its answer is the one that counts.';
END
$$;

COMMENT ON FUNCTION idem.lease_lost() IS 'Raises SQLSTATE IDM01, so that a transaction whose lease is gone cannot commit.';

-- Name: not_answered(); Type: FUNCTION; Schema: idem; Owner: -

CREATE FUNCTION idem.not_answered() RETURNS timestamp with time zone
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'no statement of the batch recorded an answer'
        USING ERRCODE = 'IDM03',
              HINT = 'Let the last one SELECT idem.answer(status, body). Over no rows, and in a WITH that nothing reads, it is not called at all.';
END
$$;

COMMENT ON FUNCTION idem.not_answered() IS 'Raises SQLSTATE IDM03, so that a batch without an answer cannot commit.';

-- Name: not_claimed(); Type: FUNCTION; Schema: idem; Owner: -

CREATE FUNCTION idem.not_claimed() RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'the idempotency key of this batch has an answer already, or another holder'
        USING ERRCODE = 'IDM02';
END
$$;

COMMENT ON FUNCTION idem.not_claimed() IS 'Raises SQLSTATE IDM02, so that the statements of a batch do not run behind a claim that was not granted.';

-- Name: schema_version(); Type: FUNCTION; Schema: idem; Owner: -

CREATE FUNCTION idem.schema_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$SELECT 5$$;

COMMENT ON FUNCTION idem.schema_version() IS 'The number of the newest migration applied; Store.Check compares it with the one its binary was built for.';

-- Name: audit; Type: TABLE; Schema: idem; Owner: -

CREATE TABLE idem.audit (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT statement_timestamp() NOT NULL,
    who text NOT NULL,
    what text NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL,
    CONSTRAINT reason_is_given CHECK ((reason <> ''::text)),
    CONSTRAINT what_is_named CHECK ((what <> ''::text)),
    CONSTRAINT who_is_named CHECK ((who <> ''::text))
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

-- Name: audit_id_seq; Type: SEQUENCE; Schema: idem; Owner: -

ALTER TABLE idem.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME idem.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: keys; Type: TABLE; Schema: idem; Owner: -

CREATE TABLE idem.keys (
    fence bigint NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    locked_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    claim_id uuid NOT NULL,
    attempts integer NOT NULL,
    response_status integer,
    leased boolean NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    fingerprint bytea NOT NULL,
    handler text,
    request bytea,
    response_header bytea,
    response_body bytea,
    provider_ref text,
    CONSTRAINT key_is_possible CHECK (((ROW(fence, locked_until, completed_at, attempts, response_status, leased, tenant_id, endpoint, key, status, fingerprint, (response_header IS NOT NULL), (response_body IS NOT NULL)))::idem.possible_key IS DISTINCT FROM NULL))
)
WITH (fillfactor='50');

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
COMMENT ON CONSTRAINT key_is_possible ON idem.keys IS 'The rules themselves, with their names, stand on domain idem.possible_key.';

-- Name: overview; Type: VIEW; Schema: idem; Owner: -

CREATE VIEW idem.overview AS
 SELECT k.tenant_id,
    k.endpoint,
        CASE
            WHEN (k.status <> 'in_flight'::text) THEN k.status
            WHEN (k.locked_until > statement_timestamp()) THEN 'held'::text
            ELSE 'abandoned'::text
        END AS state,
    count(*) AS keys,
    count(*) FILTER (WHERE ((k.completed_at IS NOT NULL) AND (k.expires_at <= statement_timestamp()))) AS expired,
    min(k.created_at) AS oldest_created_at,
    max(k.completed_at) AS newest_completed_at
   FROM idem.keys k
  GROUP BY k.tenant_id, k.endpoint,
        CASE
            WHEN (k.status <> 'in_flight'::text) THEN k.status
            WHEN (k.locked_until > statement_timestamp()) THEN 'held'::text
            ELSE 'abandoned'::text
        END;

COMMENT ON VIEW idem.overview IS 'One line a tenant, endpoint and state: the stable face for dashboards. Reads the whole table.';
COMMENT ON COLUMN idem.overview.tenant_id IS 'See idem.keys.';
COMMENT ON COLUMN idem.overview.endpoint IS 'See idem.keys.';
COMMENT ON COLUMN idem.overview.state IS 'held (its lease runs), abandoned (its lease is past), released, committed or failed.';
COMMENT ON COLUMN idem.overview.keys IS 'How many keys are in this state.';
COMMENT ON COLUMN idem.overview.expired IS 'How many of them are finished and past their retention: what the next sweep deletes.';
COMMENT ON COLUMN idem.overview.oldest_created_at IS 'When the oldest of them began its life.';
COMMENT ON COLUMN idem.overview.newest_completed_at IS 'When the newest of them finished; NULL where none has.';

-- Name: steps; Type: TABLE; Schema: idem; Owner: -

CREATE TABLE idem.steps (
    begun_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    "position" integer NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    output bytea,
    CONSTRAINT name_is_1_to_255_bytes CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 255))),
    CONSTRAINT only_a_finished_step_has_output CHECK (((finished_at IS NULL) = (output IS NULL))),
    CONSTRAINT position_is_counted_from_1 CHECK (("position" > 0))
);

COMMENT ON TABLE idem.steps IS 'Recovery points: one row a step of a key, written when it begins and again when its output is known.';
COMMENT ON COLUMN idem.steps.begun_at IS 'When the step was announced, before its effect was asked for.';
COMMENT ON COLUMN idem.steps.finished_at IS 'When its output was recorded. NULL: it began, and what it did is unknown.';
COMMENT ON COLUMN idem.steps."position" IS 'Place of the step in its handler, from 1.';
COMMENT ON COLUMN idem.steps.tenant_id IS 'See idem.keys.';
COMMENT ON COLUMN idem.steps.endpoint IS 'See idem.keys.';
COMMENT ON COLUMN idem.steps.key IS 'See idem.keys.';
COMMENT ON COLUMN idem.steps.name IS 'Name of the step, unique within its key because the downstream key is derived from it. 1 to 255 bytes.';
COMMENT ON COLUMN idem.steps.output IS 'What the step returned, replayed to every later run. NULL until finished.';

-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: idem; Owner: -

ALTER TABLE ONLY idem.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

-- Name: keys keys_pkey; Type: CONSTRAINT; Schema: idem; Owner: -

ALTER TABLE ONLY idem.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (tenant_id, endpoint, key);

-- Name: steps steps_pkey; Type: CONSTRAINT; Schema: idem; Owner: -

ALTER TABLE ONLY idem.steps
    ADD CONSTRAINT steps_pkey PRIMARY KEY (tenant_id, endpoint, key, name);

-- Name: keys_expires_at; Type: INDEX; Schema: idem; Owner: -

CREATE INDEX keys_expires_at ON idem.keys USING btree (expires_at);

COMMENT ON INDEX idem.keys_expires_at IS 'The order of the sweep.';

-- Name: keys_leased; Type: INDEX; Schema: idem; Owner: -

CREATE INDEX keys_leased ON idem.keys USING btree (created_at) WHERE leased;

COMMENT ON INDEX idem.keys_leased IS 'The keys of lease mode that are not finished, oldest first: among them the abandoned ones.';

-- Name: steps steps_key_fkey; Type: FK CONSTRAINT; Schema: idem; Owner: -

ALTER TABLE ONLY idem.steps
    ADD CONSTRAINT steps_key_fkey FOREIGN KEY (tenant_id, endpoint, key) REFERENCES idem.keys(tenant_id, endpoint, key) ON DELETE CASCADE;
