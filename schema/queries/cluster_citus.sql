-- The version of Citus in this database, empty without it; and the owner of the schema howdah.
SELECT coalesce((SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'citus'), ''),
       coalesce((SELECT pg_catalog.pg_get_userbyid(n.nspowner)::text FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'howdah'), '')
