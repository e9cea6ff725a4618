-- Without ON CONFLICT: a key that is there is an error.
INSERT INTO lab.claims (idempotency_key)
VALUES ($1);
