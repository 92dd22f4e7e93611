-- The database, the role and the server; whether the role is a superuser and sees
-- the transactions of others; and the age of the oldest row of the database.
SELECT current_database()::text,
       current_user::text,
       current_setting('server_version'),
       current_setting('server_version_num')::integer,
       statement_timestamp(),
       r.rolsuper,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
       pg_is_in_recovery(),
       current_setting('TimeZone'),
       (SELECT age(datfrozenxid)::bigint FROM pg_database WHERE datname = current_database())
FROM pg_roles AS r
WHERE r.rolname = current_user
