-- Settings of one transaction, all local to it: a pooler's next client sees none of them.

-- name: SettingsClaim :exec
-- Bounds what a claim may wait, lets it die with its client, and keeps its plans to the key's index; SettingsRestore undoes it in the
-- same round trip. Empty strings leave a setting as it is.
WITH before AS MATERIALIZED (
    SELECT
        current_setting('statement_timeout') AS statement_timeout,
        current_setting('lock_timeout') AS lock_timeout,
        current_setting('client_connection_check_interval') AS check_interval,
        current_setting('synchronous_commit') AS synchronous_commit,
        current_setting('enable_seqscan') AS enable_seqscan,
        current_setting('idle_in_transaction_session_timeout') AS idle_timeout
)
SELECT
    set_config('idem.statement_timeout', before.statement_timeout, true),
    set_config('idem.lock_timeout', before.lock_timeout, true),
    set_config('idem.check_interval', before.check_interval, true),
    set_config('idem.enable_seqscan', before.enable_seqscan, true),
    set_config('statement_timeout', coalesce(nullif(@statement_timeout::text, ''), before.statement_timeout), true),
    set_config('lock_timeout', coalesce(nullif(@lock_timeout::text, ''), before.lock_timeout), true),
    -- on a table that was vacuumed while it was empty the planner reads all of it, and goes on while it grows: 150 ms among 300,000
    set_config('enable_seqscan', 'off', true),
    -- a killed client's waiting claim dies with it; other platforms refuse the setting
    set_config('client_connection_check_interval',
        CASE WHEN version() LIKE '%linux%' THEN '100ms' ELSE before.check_interval END, true),
    -- an answer is sent once its commit is durable
    set_config('synchronous_commit',
        CASE WHEN before.synchronous_commit = 'off' THEN 'on' ELSE before.synchronous_commit END, true),
    -- a client that falls silent frees the key
    set_config('idle_in_transaction_session_timeout',
        coalesce(nullif(@idle_timeout::text, ''), before.idle_timeout), true)
FROM before;

-- name: SettingsRestore :exec
-- Gives the user's statements the time-outs they had before SettingsClaim, which must have come first in the transaction.
SELECT
    set_config('statement_timeout', current_setting('idem.statement_timeout'), true),
    set_config('lock_timeout', current_setting('idem.lock_timeout'), true),
    set_config('client_connection_check_interval', current_setting('idem.check_interval'), true),
    set_config('enable_seqscan', current_setting('idem.enable_seqscan'), true);

-- name: SettingsWrite :exec
-- Bounds what a holder's statement may wait, and keeps its plan to the key's index, in a transaction that holds nothing else or ends with
-- it. Empty strings leave a setting as it is.
SELECT
    set_config('statement_timeout', coalesce(nullif(@statement_timeout::text, ''), current_setting('statement_timeout')), true),
    set_config('lock_timeout', coalesce(nullif(@lock_timeout::text, ''), current_setting('lock_timeout')), true),
    set_config('enable_seqscan', 'off', true),
    set_config('synchronous_commit',
        CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true);

-- name: SettingsCoalesced :exec
-- Bounds what a statement for several callers may wait, and keeps its plan to the primary key: on a table that was never analysed, or
-- was small when the plan was made, the planner would read all of it for a few rows, and keep doing so while the table grows. An empty lock_timeout leaves that as it is.
SELECT
    set_config('statement_timeout', @statement_timeout::text, true),
    set_config('lock_timeout', coalesce(nullif(@lock_timeout::text, ''), current_setting('lock_timeout')), true),
    set_config('synchronous_commit',
        CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true),
    set_config('client_connection_check_interval',
        CASE WHEN version() LIKE '%linux%' THEN '100ms' ELSE current_setting('client_connection_check_interval') END, true),
    -- its estimates for several rows are too high, and compiling the plan would take 50 ms each time
    set_config('jit', 'off', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true),
    set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true);
