-- No row comes back for a key that is there.
INSERT INTO mismatch.keys (key, fingerprint)
VALUES ($1, $2)
ON CONFLICT (key) DO NOTHING
RETURNING key;
