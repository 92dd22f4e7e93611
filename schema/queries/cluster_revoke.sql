-- Takes back, on this server, what other roles than these were granted.
--   $1 their names
SELECT howdah.revoke_runtime(g.role::text)
FROM howdah.runtime_role AS g
WHERE g.role <> ALL ($1::text[])
