-- What pg_stat_statements knows of the statements that delete rows of this
-- database. {schema} is the schema of the extension, quoted.
SELECT userid, dbid, coalesce(queryid, 0), query, calls, rows, max_exec_time
FROM {schema}.pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND query ~* '^\s*delete\s'
ORDER BY rows DESC
LIMIT 1000
