-- The pages of shared_buffers: those of Howdah's tables, those in use, and all. {schema}
-- is the schema of the extension pg_buffercache, quoted.
WITH ours AS (
    SELECT pg_relation_filenode(c.oid) AS node
    FROM pg_class AS c
    LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
    LEFT JOIN pg_class AS o ON o.reltoastrelid = coalesce(i.indrelid, c.oid)
    LEFT JOIN pg_class AS b ON b.oid = coalesce(o.oid, i.indrelid, c.oid)
    WHERE c.relkind IN ('r', 'i', 't')
      AND b.relnamespace IN (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname ~ '^howdah(_internal|_p[0-9]{2})?$')
)
SELECT count(*) FILTER (WHERE p.reldatabase = d.oid AND p.relfilenode IN (SELECT o.node FROM ours AS o)),
       count(p.relfilenode),
       count(*)
FROM {schema}.pg_buffercache AS p
CROSS JOIN (SELECT x.oid FROM pg_database AS x WHERE x.datname = current_database()) AS d
