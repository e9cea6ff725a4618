-- What Store.Check asks before the first claim.

-- name: CheckServer :one
SELECT
    pg_backend_pid()::integer AS backend_pid,
    pg_is_in_recovery()::boolean AS standby,
    current_setting('transaction_read_only')::text AS read_only,
    current_setting('synchronous_commit')::text AS synchronous_commit,
    current_setting('synchronous_standby_names')::text AS synchronous_standby_names,
    current_setting('fsync')::text AS fsync,
    current_setting('server_version_num')::integer AS server_version,
    current_user::text AS role,
    (to_regnamespace('idem') IS NOT NULL)::boolean AS has_schema,
    -- by the catalog, because to_regprocedure is refused where the schema may not be used
    EXISTS (
        SELECT 1
        FROM pg_catalog.pg_proc AS p
        JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
        WHERE n.nspname = 'idem'
          AND p.proname = 'schema_version'
    ) AS has_version;

-- name: CheckVersion :one
SELECT idem.schema_version()::integer AS schema_version;

-- name: CheckRights :many
-- The rights that the protocol needs and the session's role lacks.
SELECT needed.privilege::text AS privilege, needed.object::text AS object
FROM (
    VALUES
        ('USAGE', 'idem', has_schema_privilege('idem', 'USAGE')),
        ('SELECT', 'idem.keys', has_table_privilege('idem.keys', 'SELECT')),
        ('INSERT', 'idem.keys', has_table_privilege('idem.keys', 'INSERT')),
        ('UPDATE', 'idem.keys', has_table_privilege('idem.keys', 'UPDATE')),
        ('SELECT', 'idem.steps', has_table_privilege('idem.steps', 'SELECT')),
        ('INSERT', 'idem.steps', has_table_privilege('idem.steps', 'INSERT')),
        ('UPDATE', 'idem.steps', has_table_privilege('idem.steps', 'UPDATE')),
        ('DELETE', 'idem.steps', has_table_privilege('idem.steps', 'DELETE')),
        ('EXECUTE', 'idem.lease_lost()', has_function_privilege('idem.lease_lost()', 'EXECUTE')),
        ('EXECUTE', 'idem.not_claimed()', has_function_privilege('idem.not_claimed()', 'EXECUTE')),
        ('EXECUTE', 'idem.not_answered()', has_function_privilege('idem.not_answered()', 'EXECUTE')),
        ('EXECUTE', 'idem.answer(integer, bytea, bytea)', has_function_privilege('idem.answer(integer, bytea, bytea)', 'EXECUTE'))
) AS needed (privilege, object, held)
WHERE NOT needed.held;
