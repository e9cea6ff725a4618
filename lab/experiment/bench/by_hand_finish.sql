UPDATE lab.by_hand
SET
    status = 'done',
    response = $2
WHERE key = $1;
