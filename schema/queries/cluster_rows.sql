-- What all servers have in common: the seed and the number of partitions, the caches, and the
-- roles that run applications.
SELECT m.seed, m.partitions,
       (SELECT coalesce(jsonb_agg(to_jsonb(c) ORDER BY c.name COLLATE "C"), '[]') FROM howdah_internal.cache AS c)::text,
       ARRAY(SELECT r.role::text FROM howdah.runtime_role AS r JOIN pg_catalog.pg_roles AS p ON p.rolname = r.role ORDER BY 1)
FROM howdah.meta AS m
