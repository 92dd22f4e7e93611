-- The time, the database, the role and the server, and whether the role sees the
-- transactions of others.
SELECT statement_timestamp(),
       current_database()::text,
       current_user::text,
       current_setting('server_version'),
       current_setting('server_version_num')::integer,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
