-- No row is inserted for a key that is there. One that another transaction has inserted and not committed is waited for.
INSERT INTO webhook.ledger (key)
VALUES ($1)
ON CONFLICT (key) DO NOTHING;
