-- What pg_stat_statements knows of the polls of the change log: their number, and how
-- many milliseconds one took on average. {schema} is the schema of the extension,
-- quoted.
SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(total_exec_time) / nullif(sum(calls), 0), 0)::float8
FROM {schema}.pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND query LIKE '%pg_current_snapshot()%howdah_internal.change_state%howdah_internal.change AS%'
