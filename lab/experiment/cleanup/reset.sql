TRUNCATE cleanup.idempotency_keys, cleanup.purchases;

-- The receipt that the work draws at its first try.
INSERT INTO cleanup.purchases (receipt, idempotency_key)
VALUES ('drawn by somebody else', 'somebody else''s');
