-- Whether a statement of this role runs in this database that began so long ago.
--   $1 seconds
SELECT EXISTS (
    SELECT
    FROM pg_stat_activity AS a
    WHERE a.datname = current_database()
      AND a.usename = session_user
      AND a.backend_type = 'client backend'
      AND a.pid <> pg_backend_pid()
      AND a.state = 'active'
      AND a.xact_start <= clock_timestamp() - make_interval(secs => $1::double precision)
)
