-- The settings of the caches.
SELECT name,
       durability,
       id,
       coalesce(max_bytes, 0),
       coalesce(max_entries, 0),
       fillfactor,
       prefix_index,
       eviction
FROM howdah_internal.cache
ORDER BY name
