-- Ends a backend that may still send messages for a connection that was lost, and says
-- whether it has ended. One of another role or database has the number by chance.
--   $1 its process, $2 how long to wait for its end, in milliseconds
SELECT coalesce(pg_catalog.bool_and(pg_catalog.pg_terminate_backend(a.pid, $2::bigint)), true)
FROM pg_catalog.pg_stat_activity AS a
WHERE a.pid = $1::integer AND a.datname = current_database() AND a.usename = session_user
