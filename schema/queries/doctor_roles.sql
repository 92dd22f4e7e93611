-- The roles that run applications: whether they exist, are superusers, or own the
-- schema.
SELECT r.role::text, p.oid IS NOT NULL, coalesce(p.rolsuper, false),
       coalesce(pg_has_role(p.oid, n.nspowner, 'USAGE'), false)
FROM howdah.runtime_role AS r
LEFT JOIN pg_roles AS p ON p.rolname = r.role
JOIN pg_namespace AS n ON n.nspname = 'howdah'
ORDER BY 1
