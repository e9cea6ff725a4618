SELECT d.datname::text
FROM pg_database AS d
CROSS JOIN LATERAL (SELECT shobj_description(d.oid, 'pg_database')) AS c (signature)
WHERE d.datdba = (SELECT oid FROM pg_roles WHERE rolname = @role)
    AND d.datname LIKE 'testdb\_tpl\_%'
    AND CASE
        -- Whoever made it was killed before it was signed: makers are shut out meanwhile.
        WHEN c.signature IS NULL THEN true
        WHEN starts_with(c.signature, @run) THEN NOT EXISTS (
            SELECT
            FROM pg_locks AS l
            WHERE l.locktype = 'advisory'
                AND l.classid::bigint = @lock_space
                AND l.objid::bigint = substr(c.signature, length(@run) + 1)::bigint
                AND l.objsubid = 2 -- locks of two keys
        )
        WHEN starts_with(c.signature, @kept)
            THEN substr(c.signature, length(@kept) + 1)::timestamptz < now() - interval '1 day'
        WHEN starts_with(c.signature, @template)
            THEN substr(c.signature, length(@template) + 1)::timestamptz < now() - interval '1 day'
        ELSE false
    END
LIMIT 64
