-- What stands around the user's statements when they travel with the claim: one round trip from BEGIN to COMMIT.

-- name: BatchClaimed :exec
-- Stops the trip (IDM02) unless the key is this claim's, so that nothing behind it runs; for the statements behind it, gives back
-- the time-outs that SettingsClaim took and names the key to idem.answer. It follows KeyLoad, whose row has left for the client
-- by then: a replay is answered from the same trip.
--
-- Cost: an index lookup. KeyLoad cannot do this itself: an error in it would keep its row. The error of a claim that was not granted
-- is a line in the server's log.
-- Not instead: the effect first and the key last, as one INSERT of a finished row. It saves the completion's row version (331 bytes
-- of WAL), but a duplicate then does the work before it learns that it is one, and may meet an error of the work, not its answer.
SELECT
    CASE
        WHEN EXISTS (
            SELECT 1
            FROM idem.keys
            WHERE tenant_id = @tenant_id::text
              AND endpoint = @endpoint::text
              AND key = @key::text
              AND claim_id = @claim_id::uuid
              AND status = 'in_flight'
        ) THEN true
        ELSE idem.not_claimed()
    END,
    set_config('statement_timeout', current_setting('idem.statement_timeout'), true),
    set_config('lock_timeout', current_setting('idem.lock_timeout'), true),
    set_config('client_connection_check_interval', current_setting('idem.check_interval'), true),
    set_config('enable_seqscan', current_setting('idem.enable_seqscan'), true),
    set_config('idem.tenant_id', @tenant_id::text, true),
    set_config('idem.endpoint', @endpoint::text, true),
    set_config('idem.key', @key::text, true),
    set_config('idem.claim_id', (@claim_id::uuid)::text, true),
    set_config('idem.retention', (@retention::interval)::text, true);

-- name: BatchAnswered :one
-- Reads the answer that the user's statements recorded, and stops the trip (IDM03) where they did not, so that COMMIT behind it
-- is not reached. It makes that COMMIT bounded and durable, whatever those statements set.
--
-- Cost: about 870 bytes of WAL a batch, 930 with keys in no order (see KeyClaim); HOT. That is 20 more than Do writes: this reads the
-- page after the completion and prunes it, so that 12 keys share a page instead of 8.
WITH answered AS (
    SELECT completed_at, response_status, response_header, response_body
    FROM idem.keys
    WHERE tenant_id = @tenant_id
      AND endpoint = @endpoint
      AND key = @key
      AND claim_id = @claim_id
      AND status = 'committed'
)
SELECT
    coalesce((SELECT completed_at FROM answered), idem.not_answered())::timestamptz AS completed_at,
    (SELECT response_status FROM answered) AS response_status,
    (SELECT response_header FROM answered) AS response_header,
    (SELECT response_body FROM answered) AS response_body,
    concat(
        set_config('statement_timeout', @statement_timeout::text, true),
        set_config('synchronous_commit',
            CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)
    )::text AS settings;
