-- The settings of the caches, and of partitions of caches; of these with the cache and the
-- number, and whether Citus has placed it. Older schemas have no columns for that.
SELECT name,
       durability,
       id,
       coalesce(max_bytes, 0),
       coalesce(max_entries, 0),
       fillfactor,
       prefix_index,
       eviction,
       split_part(name, '/', 1),
       split_part(name, '/', 2),
       to_jsonb(c) ->> 'shard' IS NOT NULL  -- Citus has placed it
FROM howdah_internal.cache AS c
ORDER BY name
