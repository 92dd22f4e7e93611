-- Connections to this database that are named as this one is, by the address that they
-- come from ('': a Unix socket, or not shown to this role), and the time.
SELECT coalesce(host(a.client_addr), ''), count(*), statement_timestamp()
FROM pg_stat_activity AS a
WHERE a.datname = current_database()
  AND a.application_name = current_setting('application_name')
GROUP BY 1
ORDER BY 1
LIMIT 1000
