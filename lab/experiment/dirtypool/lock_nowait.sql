-- 55P03 says that somebody else has the lock.
SELECT pieces
FROM dirty_pool.stock
WHERE id = 1
FOR UPDATE NOWAIT;
