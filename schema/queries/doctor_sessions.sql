-- The other sessions of the server, the oldest transaction first.
--   $1 the type of backends
SELECT pid, coalesce(usename::text, 'unknown role') || coalesce(', ' || nullif(application_name, ''), ''),
       coalesce(state, ''),
       coalesce(extract(epoch FROM clock_timestamp() - xact_start), 0)::float8,
       coalesce(extract(epoch FROM clock_timestamp() - state_change), 0)::float8,
       CASE WHEN backend_xmin IS NULL THEN 0 ELSE greatest(age(backend_xmin), 1) END::bigint,
       coalesce(datname = current_database(), false),
       coalesce(pg_has_role(usesysid, 'USAGE'), false)
FROM pg_stat_activity
-- The type of others' sessions may be hidden.
WHERE pid <> pg_backend_pid() AND datname IS NOT NULL AND coalesce(backend_type, 'client backend') = $1
ORDER BY xact_start NULLS LAST
