-- Whether there is a role.
--   $1 its name
SELECT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = $1::text)
