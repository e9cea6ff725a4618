-- Everything that a migration can leave behind, a line each: two databases with the same lines have the same schema.

WITH schemas AS (
    SELECT n.oid, n.nspname, n.nspacl
    FROM pg_catalog.pg_namespace AS n
    WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
),
relations AS (
    SELECT c.oid, c.oid::regclass::text AS name, c.relkind, c.relpersistence, c.reloptions, c.relacl, c.relrowsecurity
    FROM pg_catalog.pg_class AS c
    JOIN schemas ON schemas.oid = c.relnamespace
),
functions AS (
    SELECT p.oid, p.oid::regprocedure::text AS name, p.proacl
    FROM pg_catalog.pg_proc AS p
    JOIN schemas ON schemas.oid = p.pronamespace
)
SELECT format('schema %s %s', nspname, nspacl) AS line
FROM schemas

UNION ALL
SELECT format('relation %s kind=%s persistence=%s options=%s rights=%s row security=%s', name, relkind, relpersistence, reloptions, relacl, relrowsecurity)
FROM relations

UNION ALL
SELECT format('column %s %s %s %s type=%s not null=%s identity=%s generated=%s collation=%s default=%s',
    r.name,
    -- its place among those that stand, not attnum, which counts dropped ones
    row_number() OVER (PARTITION BY r.oid ORDER BY a.attnum),
    a.attname,
    a.attstorage,
    format_type(a.atttypid, a.atttypmod),
    a.attnotnull,
    a.attidentity,
    a.attgenerated,
    a.attcollation::regcollation,
    pg_get_expr(d.adbin, d.adrelid))
FROM relations AS r
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = r.oid AND d.adnum = a.attnum

UNION ALL
SELECT format('constraint %s %s: %s validated=%s', r.name, o.conname, pg_get_constraintdef(o.oid), o.convalidated)
FROM relations AS r
JOIN pg_catalog.pg_constraint AS o ON o.conrelid = r.oid

UNION ALL
SELECT format('domain %s: %s %s', o.contypid::regtype, o.conname, pg_get_constraintdef(o.oid))
FROM schemas
JOIN pg_catalog.pg_constraint AS o ON o.connamespace = schemas.oid AND o.contypid <> 0

UNION ALL
SELECT format('index %s: %s valid=%s', r.name, pg_get_indexdef(r.oid), i.indisvalid)
FROM relations AS r
JOIN pg_catalog.pg_index AS i ON i.indexrelid = r.oid

UNION ALL
SELECT format('view %s: %s', name, pg_get_viewdef(oid))
FROM relations
WHERE relkind IN ('v', 'm')

UNION ALL
SELECT format('sequence %s: %s', r.name, to_jsonb(s) - 'seqrelid')
FROM relations AS r
JOIN pg_catalog.pg_sequence AS s ON s.seqrelid = r.oid

UNION ALL
SELECT format('trigger %s: %s', r.name, pg_get_triggerdef(t.oid))
FROM relations AS r
JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = r.oid AND NOT t.tgisinternal

UNION ALL
SELECT format('policy %s: %s', r.name, to_jsonb(p) - 'oid' - 'polrelid')
FROM relations AS r
JOIN pg_catalog.pg_policy AS p ON p.polrelid = r.oid

UNION ALL
SELECT format('function %s rights=%s: %s', name, proacl, pg_get_functiondef(oid))
FROM functions

UNION ALL
SELECT format('type %s %s', t.typname, t.typtype)
FROM pg_catalog.pg_type AS t
JOIN schemas ON schemas.oid = t.typnamespace

UNION ALL
SELECT format('comment %s %s %s: %s', d.classoid::regclass, coalesce(r.name, f.name, s.nspname), coalesce(a.attname, ''), d.description)
FROM pg_catalog.pg_description AS d
LEFT JOIN relations AS r ON d.classoid = 'pg_catalog.pg_class'::regclass AND r.oid = d.objoid
LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = r.oid AND a.attnum = d.objsubid AND d.objsubid > 0
LEFT JOIN functions AS f ON d.classoid = 'pg_catalog.pg_proc'::regclass AND f.oid = d.objoid
LEFT JOIN schemas AS s ON d.classoid = 'pg_catalog.pg_namespace'::regclass AND s.oid = d.objoid
WHERE coalesce(r.oid, f.oid, s.oid) IS NOT NULL

UNION ALL
SELECT format('extension %s', extname)
FROM pg_catalog.pg_extension

ORDER BY line
