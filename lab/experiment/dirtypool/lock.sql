SELECT pieces
FROM dirty_pool.stock
WHERE id = 1
FOR UPDATE;
