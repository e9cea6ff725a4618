INSERT INTO webhook.seen (key)
VALUES ($1);
