-- Least rights for the programs that use schema idem. Run it once a database, as the schema's owner with CREATEROLE, after
-- migrating and again after each migration; it may run twice. Then: GRANT idem_app TO payments_service.

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['idem_app', 'idem_sweep', 'idem_operator'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        END IF;
    END LOOP;
END
$$;

-- The service: claims, completes, records steps. It deletes no key.
GRANT USAGE ON SCHEMA idem TO idem_app;
GRANT SELECT, INSERT, UPDATE ON idem.keys TO idem_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON idem.steps TO idem_app;
GRANT EXECUTE ON FUNCTION idem.schema_version(), idem.lease_lost(), idem.not_claimed(), idem.not_answered() TO idem_app;
GRANT EXECUTE ON FUNCTION idem.answer(integer, bytea, bytea) TO idem_app;

-- The sweep: deletes finished keys. UPDATE is what FOR UPDATE asks for; steps go by the foreign key, in its owner's name.
GRANT USAGE ON SCHEMA idem TO idem_sweep;
GRANT SELECT, UPDATE, DELETE ON idem.keys TO idem_sweep;

-- Operators: look at everything, and settle keys by hand with a record of who did it.
GRANT idem_app, idem_sweep TO idem_operator;
GRANT SELECT, INSERT ON idem.audit TO idem_operator;
GRANT SELECT ON idem.overview TO idem_operator;
