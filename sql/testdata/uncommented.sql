-- What a person or sqlc finds in schema idem without a word about it. An index that a constraint made is named by that
-- constraint; an identity's sequence belongs to its column.

SELECT format('relation %s', c.oid::regclass) AS object
FROM pg_catalog.pg_class AS c
WHERE c.relnamespace = 'idem'::regnamespace
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'i', 'I')
  AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint AS o WHERE o.conindid = c.oid AND o.conrelid <> 0 AND o.contype IN ('p', 'u', 'x'))
  AND obj_description(c.oid, 'pg_class') IS NULL

UNION ALL
SELECT format('column %s.%s', c.oid::regclass, a.attname)
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'idem'::regnamespace
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND col_description(c.oid, a.attnum) IS NULL

UNION ALL
SELECT format('function %s', p.oid::regprocedure)
FROM pg_catalog.pg_proc AS p
WHERE p.pronamespace = 'idem'::regnamespace
  AND obj_description(p.oid, 'pg_proc') IS NULL

UNION ALL
SELECT format('type %s', t.oid::regtype)
FROM pg_catalog.pg_type AS t
WHERE t.typnamespace = 'idem'::regnamespace
  AND (t.typtype IN ('d', 'e', 'r') OR EXISTS (SELECT 1 FROM pg_catalog.pg_class AS c WHERE c.oid = t.typrelid AND c.relkind = 'c'))
  AND obj_description(t.oid, 'pg_type') IS NULL

UNION ALL
SELECT 'schema idem'
WHERE obj_description('idem'::regnamespace, 'pg_namespace') IS NULL

ORDER BY object
