-- The settings of the caches, and of partitions of caches; of these with the cache and the
-- number. Older schemas have no columns for that.
SELECT name,
       durability,
       id,
       coalesce(max_bytes, 0),
       coalesce(max_entries, 0),
       fillfactor,
       prefix_index,
       eviction,
       split_part(name, '/', 1),
       split_part(name, '/', 2)
FROM howdah_internal.cache
ORDER BY name
