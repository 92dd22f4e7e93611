-- What the statements of caches are made from. TTLs are in microseconds; 0 is
-- none, or one so long that it means none.
--   $1 names
SELECT name,
       id,
       features,
       durability,
       coalesce(extract(epoch FROM CASE WHEN default_ttl < interval '1000 years' THEN default_ttl END) * 1000000::numeric, 0)::bigint,
       coalesce(extract(epoch FROM CASE WHEN max_ttl < interval '1000 years' THEN max_ttl END) * 1000000::numeric, 0)::bigint,
       ttl_jitter,
       full_since IS NOT NULL,
       eviction = 'noeviction' AND (max_entries IS NOT NULL OR max_bytes IS NOT NULL),
       -- Names of tables that are not made of the id.
       coalesce(relation, ''),
       coalesce(tag_relation, ''),
       coalesce(shard, 0)
FROM howdah_internal.cache
WHERE name = ANY ($1::text[])
