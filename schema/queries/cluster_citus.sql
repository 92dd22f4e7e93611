-- The version of Citus in this database, empty without it; and the owner of the schema howdah,
-- empty if there is none, whether this role may act as the owner, and its name.
SELECT coalesce((SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'citus'), ''),
       coalesce(pg_catalog.pg_get_userbyid(n.nspowner)::text, ''),
       coalesce(pg_catalog.pg_has_role(n.nspowner, 'USAGE'), true),
       current_user::text
FROM (VALUES ('howdah')) AS v (name)
LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = v.name
