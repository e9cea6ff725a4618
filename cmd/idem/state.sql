-- Where schema idem, its record and this session stand. Reads catalogs only: schema idem may not be there.
SELECT
    current_database()::text AS database,
    current_user::text AS role,
    coalesce(current_schema(), '')::text AS current,
    pg_is_in_recovery() AS standby,
    has_database_privilege(current_database(), 'CREATE') AS may_create,
    EXISTS (SELECT FROM pg_namespace WHERE nspname = 'idem') AS has_schema,
    EXISTS (
        SELECT
        FROM pg_proc AS p
        JOIN pg_namespace AS n ON n.oid = p.pronamespace
        WHERE n.nspname = 'idem'
          AND p.proname = 'schema_version'
          AND p.pronargs = 0
    ) AS has_version,
    ARRAY(
        SELECT n.nspname::text
        FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.relname = @version_table
          AND c.relkind IN ('r', 'p')
        ORDER BY n.nspname
    ) AS records
