-- What monitoring shows of the database: the version of the server, whether it is
-- a primary or a standby, and the newest migration of the schema.
SELECT pg_catalog.current_setting('server_version'),
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'standby' ELSE 'primary' END,
       (SELECT coalesce(pg_catalog.max(m.version), 0) FROM howdah.migration AS m)
