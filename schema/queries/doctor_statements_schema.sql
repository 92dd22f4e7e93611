-- The schema of the extension pg_stat_statements, if it is installed.
SELECT quote_ident(n.nspname)
FROM pg_extension AS e
JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_stat_statements'
