SELECT
    count(*)::integer AS connections,
    (count(*) FILTER (WHERE state LIKE 'idle in transaction%'))::integer AS in_transaction
FROM pg_stat_activity
WHERE application_name = $1;
