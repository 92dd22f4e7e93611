-- Whether the schemas of Howdah are installed, and whether this role may read
-- them. No row: there is no schema howdah.
SELECT c.oid IS NOT NULL AND EXISTS (SELECT FROM pg_class AS m WHERE m.relnamespace = n.oid AND m.relname = 'migration'),
       has_schema_privilege(n.oid, 'USAGE') AND coalesce(has_schema_privilege(i.oid, 'USAGE'), true)
       AND coalesce(has_table_privilege(c.oid, 'SELECT'), true)
FROM pg_namespace AS n
LEFT JOIN pg_namespace AS i ON i.nspname = 'howdah_internal'
LEFT JOIN pg_class AS c ON c.relnamespace = i.oid AND c.relname = 'cache' AND c.relkind = 'r'
WHERE n.nspname = 'howdah'
