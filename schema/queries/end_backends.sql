-- Ends backends that this process has lost, and returns those that have not ended. One row
-- with NULL: a pooler stands between, and nobody knows which backends they are.
--   $1 their process ids
--   $2 for how many seconds each of them has run, at least: one that began much later is another
--      that has got the same id since (half of it, because clocks differ)
--   $3 for how many milliseconds to wait for the end of each
--   $4 the process id that this connection was given
WITH lost AS MATERIALIZED (
    SELECT a.pid, pg_has_role(a.usesysid, 'USAGE') AS may_end
    FROM unnest($1::integer[], $2::double precision[]) AS o (pid, age)
    JOIN pg_stat_activity AS a ON a.pid = o.pid
    WHERE a.datname = current_database()
      AND a.backend_type = 'client backend'
      AND coalesce(clock_timestamp() - a.backend_start >= make_interval(secs => o.age / 2), true)
      AND pg_backend_pid() = $4::integer
)
SELECT pid FROM lost WHERE NOT CASE WHEN may_end THEN pg_terminate_backend(pid, $3::bigint) ELSE false END
UNION ALL
SELECT NULL WHERE pg_backend_pid() <> $4::integer
