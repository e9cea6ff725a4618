VACUUM (ANALYZE) idem.keys;
