-- Takes ACCESS EXCLUSIVE on idem.audit and drops the operators' record.

DROP VIEW idem.overview;
DROP TABLE idem.audit;

CREATE OR REPLACE FUNCTION idem.schema_version() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS 'SELECT 2';
