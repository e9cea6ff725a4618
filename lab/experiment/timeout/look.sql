SELECT status
FROM timeout.answers
WHERE key = $1;
