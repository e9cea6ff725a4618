-- What golang-migrate names its lock after.
SELECT current_database()::text, coalesce(current_schema(), '')::text
