SELECT
    count(*) FILTER (WHERE status = 'committed' AND expires_at <= statement_timestamp()) AS expired,
    count(*) FILTER (WHERE status = 'committed' AND expires_at > statement_timestamp()) AS live,
    count(*) FILTER (WHERE status = 'in_flight') AS unfinished
FROM idem.keys;
