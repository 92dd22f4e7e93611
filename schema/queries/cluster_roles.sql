-- Grants what applications need, on this server, to roles that do not have it.
--   $1 their names
SELECT howdah.grant_runtime(r.role)
FROM unnest($1::text[]) AS r (role)
WHERE r.role NOT IN (SELECT g.role FROM howdah.runtime_role AS g)
