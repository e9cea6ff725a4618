-- Takes ACCESS EXCLUSIVE on idem.keys and drops it with every answer in it.

DROP TABLE idem.keys;
DROP FUNCTION idem.lease_lost();
DROP FUNCTION idem.schema_version();
DROP SCHEMA idem;
