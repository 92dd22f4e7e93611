-- The newest migration, the newest one that is breaking and newer than those of
-- the program, the functions that are installed, and the number of partitions: older
-- schemas have no column for it.
--   $1 the newest migration that the program knows
SELECT (SELECT coalesce(max(version), 0) FROM howdah.migration),
       (SELECT coalesce(max(version), 0) FROM howdah.migration WHERE breaking AND version > $1::integer),
       functions,
       functions_digest,
       coalesce((to_jsonb(m) ->> 'partitions')::integer, 0)
FROM howdah.meta AS m
