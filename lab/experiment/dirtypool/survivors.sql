SELECT handler
FROM dirty_pool.writes
ORDER BY id;
