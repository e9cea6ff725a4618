-- Locks nothing that exists: it creates three functions.

CREATE OR REPLACE FUNCTION idem.schema_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT 4';

-- The statements of a batch are sent before anybody knows whether the claim among them wins, so the later ones can be stopped by
-- nothing but an error in SQL: these two. The server logs each. No hint in the first: a retry storm raises it once a retry.
CREATE FUNCTION idem.not_claimed() RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    AS $$
BEGIN
    RAISE EXCEPTION 'the idempotency key of this batch has an answer already, or another holder'
        USING ERRCODE = 'IDM02';
END
$$;

COMMENT ON FUNCTION idem.not_claimed() IS 'Raises SQLSTATE IDM02, so that the statements of a batch do not run behind a claim that was not granted.';

CREATE FUNCTION idem.not_answered() RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE
    AS $$
BEGIN
    RAISE EXCEPTION 'no statement of the batch recorded an answer'
        USING ERRCODE = 'IDM03',
              HINT = 'Let the last one SELECT idem.answer(status, body). Over no rows, and in a WITH that nothing reads, it is not called at all.';
END
$$;

COMMENT ON FUNCTION idem.not_answered() IS 'Raises SQLSTATE IDM03, so that a batch without an answer cannot commit.';

-- KeyCompleteTx for statements that make the answer themselves. Which key is theirs stands in settings of the transaction, which
-- BatchClaimed wrote once the claim was granted; the claim id is random, so no other row fits.
CREATE FUNCTION idem.answer(status integer, body bytea, header bytea DEFAULT '') RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE
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

COMMENT ON FUNCTION idem.answer(integer, bytea, bytea) IS 'Records the answer of the key that this batch claimed (DoBatch in package idem), and returns when: status 0 to 999, body byte for byte, header as "Name: value" lines ended by CR LF. Raises SQLSTATE IDM01 where no key waits for its answer: outside a batch, and the second time.';
