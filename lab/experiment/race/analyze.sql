-- So that indexes are read from the first transaction on: a scan of a whole table takes one predicate lock for all of it, and
-- then every insert conflicts with every look.
VACUUM (ANALYZE);
