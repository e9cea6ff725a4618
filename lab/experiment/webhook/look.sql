SELECT EXISTS (
    SELECT
    FROM webhook.seen
    WHERE key = $1
);
