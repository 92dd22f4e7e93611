-- All settings of all caches; of one with partitions, of all of them together. TTLs are in
-- microseconds; 0 is none, or one so long that it means none.
--   $1 the longest TTL to answer
SELECT coalesce(whole, name),
       min(durability),
       least(coalesce(extract(epoch FROM CASE WHEN min(default_ttl) < interval '1000 years' THEN min(default_ttl) END) * 1000000::numeric, 0), $1::bigint)::bigint,
       least(coalesce(extract(epoch FROM CASE WHEN min(max_ttl) < interval '1000 years' THEN min(max_ttl) END) * 1000000::numeric, 0), $1::bigint)::bigint,
       coalesce(sum(max_bytes), 0)::bigint,
       coalesce(sum(max_entries), 0)::bigint,
       min(eviction),
       min(fillfactor),
       bool_and(prefix_index),
       min(ttl_jitter),
       bool_and('near' = ANY (features)),
       bool_and('log_keys' = ANY (features))
FROM howdah_internal.cache
GROUP BY coalesce(whole, name)
ORDER BY coalesce(whole, name)
