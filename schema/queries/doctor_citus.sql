-- The version of Citus in this database, empty without it; whether it places partitions here;
-- and into how many the keys are divided.
SELECT coalesce((SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'citus'), ''),
       to_regnamespace('howdah_p00') IS NOT NULL,
       m.partitions::integer
FROM howdah.meta AS m
