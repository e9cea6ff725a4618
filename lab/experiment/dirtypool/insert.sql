INSERT INTO dirty_pool.writes (handler)
VALUES ($1);
