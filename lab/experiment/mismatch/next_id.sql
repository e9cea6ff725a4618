-- The next movement gets this id.
SELECT setval(pg_get_serial_sequence('mismatch.movements', 'id'), $1, false) AS id;
