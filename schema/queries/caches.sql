-- All settings of all caches. TTLs are in microseconds; 0 is none, or one so
-- long that it means none.
--   $1 the longest TTL to answer
SELECT name,
       durability,
       least(coalesce(extract(epoch FROM CASE WHEN default_ttl < interval '1000 years' THEN default_ttl END) * 1000000::numeric, 0), $1::bigint)::bigint,
       least(coalesce(extract(epoch FROM CASE WHEN max_ttl < interval '1000 years' THEN max_ttl END) * 1000000::numeric, 0), $1::bigint)::bigint,
       coalesce(max_bytes, 0),
       coalesce(max_entries, 0),
       eviction,
       fillfactor,
       prefix_index,
       ttl_jitter,
       'near' = ANY (features),
       'log_keys' = ANY (features)
FROM howdah_internal.cache
ORDER BY name
