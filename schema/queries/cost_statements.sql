-- What the statements of this database have cost since the statistics of
-- pg_stat_statements were reset, in one row: those that name a schema of Howdah, and the
-- others. Howdah quotes its names. Statements inside functions count with the statement
-- that called them. {schema} is the schema of the extension, quoted.
SELECT i.stats_reset, i.dealloc,
       coalesce(sum(s.calls) FILTER (WHERE s.ours), 0)::bigint,
       coalesce(sum(s.total_exec_time) FILTER (WHERE s.ours), 0)::float8 / 1000,
       coalesce(sum(s.shared_blks_hit + s.shared_blks_read) FILTER (WHERE s.ours), 0)::bigint,
       coalesce(sum(s.wal_bytes) FILTER (WHERE s.ours), 0)::bigint,
       coalesce(sum(s.calls) FILTER (WHERE NOT s.ours), 0)::bigint,
       coalesce(sum(s.total_exec_time) FILTER (WHERE NOT s.ours), 0)::float8 / 1000,
       coalesce(sum(s.shared_blks_hit + s.shared_blks_read) FILTER (WHERE NOT s.ours), 0)::bigint,
       coalesce(sum(s.wal_bytes) FILTER (WHERE NOT s.ours), 0)::bigint
FROM {schema}.pg_stat_statements_info AS i
LEFT JOIN (
    SELECT coalesce(p.query, '') ~ '"?howdah(_internal|_p[0-9]{2})?"?\.' AS ours,
           p.calls, p.total_exec_time, p.shared_blks_hit, p.shared_blks_read, p.wal_bytes
    FROM {schema}.pg_stat_statements AS p
    WHERE p.dbid = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
      AND p.toplevel
) AS s ON true
GROUP BY i.stats_reset, i.dealloc
