UPDATE mismatch.keys
SET response = $2::text::jsonb
WHERE key = $1;
