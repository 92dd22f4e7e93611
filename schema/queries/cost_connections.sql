-- Connections of clients: those named as this one is, all to this database, all to the
-- server, and how many the server allows.
SELECT count(*) FILTER (WHERE a.datname = current_database() AND a.application_name = current_setting('application_name')),
       count(*) FILTER (WHERE a.datname = current_database()),
       count(*),
       current_setting('max_connections')::bigint,
       current_setting('application_name')
FROM pg_stat_activity AS a
WHERE a.backend_type = 'client backend'
