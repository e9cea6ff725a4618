INSERT INTO timeout.answers (key, status)
VALUES ($1, $2);
