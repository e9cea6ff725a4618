-- What a replay is made of.
SELECT
    fingerprint,
    response_status,
    response_header,
    response_body
FROM idem.keys
WHERE tenant_id = $1
  AND endpoint = $2
  AND key = $3;
