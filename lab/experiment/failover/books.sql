-- Each payment that the processor has charged, how often, and under how many keys.
SELECT
    reference,
    count(*) AS charges,
    count(DISTINCT key) AS keys
FROM processor.operations
WHERE kind = 'charge'
  AND status = 'succeeded'
GROUP BY reference;
