-- No row comes back for a key that is there: somebody else has it.
INSERT INTO lab.by_hand (key)
VALUES ($1)
ON CONFLICT (key) DO NOTHING
RETURNING key;
