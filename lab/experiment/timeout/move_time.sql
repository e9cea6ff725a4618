-- So many hours pass for every key of the product's that is finished.
UPDATE idem.keys
SET
    claimed_at = claimed_at - make_interval(hours => $1),
    created_at = created_at - make_interval(hours => $1),
    completed_at = completed_at - make_interval(hours => $1),
    expires_at = expires_at - make_interval(hours => $1)
WHERE completed_at IS NOT NULL;
