-- Commits of a shop that wait for a synchronous standby. Nobody sees what they write.
SELECT count(*)
FROM pg_stat_activity
WHERE wait_event = 'SyncRep'
  AND application_name = $1;
