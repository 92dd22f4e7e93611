-- The role, the server, and the schemas howdah and howdah_internal: who owns them,
-- whether what makes them ours is there, and whether they are empty. It names
-- pg_catalog, because it runs before anything has settled the search_path.
SELECT current_user::text,
       pg_catalog.current_database()::text,
       pg_catalog.current_setting('server_version_num')::integer,
       pg_catalog.pg_is_in_recovery(),
       pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'),
       coalesce(pg_catalog.pg_get_userbyid(n.nspowner)::text, ''),
       coalesce(pg_catalog.pg_has_role(n.nspowner, 'USAGE'), false),
       (SELECT count(*) = 2 FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = n.oid AND c.relkind = 'r' AND c.relname IN ('migration', 'meta')),
       NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.relnamespace = n.oid)
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = n.oid)
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_type AS t WHERE t.typnamespace = n.oid),
       coalesce(pg_catalog.pg_get_userbyid(i.nspowner)::text, ''),
       EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.relnamespace = i.oid AND c.relkind = 'r' AND c.relname = 'cache'),
       NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.relnamespace = i.oid)
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = i.oid)
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_type AS t WHERE t.typnamespace = i.oid)
FROM (VALUES ('howdah', 'howdah_internal')) AS v (name, internal)
LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = v.name
LEFT JOIN pg_catalog.pg_namespace AS i ON i.nspname = v.internal
