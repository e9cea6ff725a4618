SELECT count(*)
FROM pg_stat_activity
WHERE application_name = $1
  AND datname = current_database();
