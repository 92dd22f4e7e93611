-- The newest migration, the newest one that is breaking and newer than those of
-- the program, and the functions that are installed.
--   $1 the newest migration that the program knows
SELECT (SELECT coalesce(max(version), 0) FROM howdah.migration),
       (SELECT coalesce(max(version), 0) FROM howdah.migration WHERE breaking AND version > $1::integer),
       functions,
       functions_digest
FROM howdah.meta
