-- What the cost of Howdah is measured by: the time, the role, whether it sees the
-- statements of other roles, the schemas of the extensions pg_stat_statements and
-- pg_buffercache ('': not installed), and shared_preload_libraries as far as the role may
-- see it.
SELECT statement_timestamp(),
       current_user::text,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
       coalesce((SELECT quote_ident(n.nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
                 WHERE e.extname = 'pg_stat_statements'), ''),
       coalesce((SELECT quote_ident(n.nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
                 WHERE e.extname = 'pg_buffercache'), ''),
       coalesce((SELECT s.setting FROM pg_settings AS s WHERE s.name = 'shared_preload_libraries'), '')
