-- The names of the caches, those in partitions once each. Older schemas have no column
-- for the whole cache.
SELECT DISTINCT split_part(name, '/', 1)
FROM howdah_internal.cache
ORDER BY 1
