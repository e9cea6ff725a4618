-- Recovery points of a key.

-- name: StepForget :execrows
-- Deletes the steps of the life that KeyRenew has just ended; none when that claim won nothing.
DELETE FROM idem.steps AS s
USING idem.keys AS k
WHERE s.tenant_id = @tenant_id
  AND s.endpoint = @endpoint
  AND s.key = @key
  AND k.tenant_id = @tenant_id
  AND k.endpoint = @endpoint
  AND k.key = @key
  AND k.claim_id = @claim_id;
