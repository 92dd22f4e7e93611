-- Into how many partitions the keys of a cache are divided, those of them that are missing,
-- and the settings in which the others differ, each with that of the first one (of a budget,
-- the sum), which is empty where there is none. No row: the database has no partitions.
WITH part AS (
    SELECT coalesce(c.whole, c.name) AS cache, c.partition,
           jsonb_build_object(
               'durability', c.durability, 'default_ttl', c.default_ttl, 'max_ttl', c.max_ttl, 'eviction', c.eviction,
               'fillfactor', c.fillfactor, 'prefix_index', c.prefix_index, 'ttl_jitter', c.ttl_jitter,
               'near', 'near' = ANY (c.features), 'log_keys', 'log_keys' = ANY (c.features)) AS settings,
           jsonb_build_object('max_bytes', c.max_bytes, 'max_entries', c.max_entries) AS budget
    FROM howdah_internal.cache AS c
), setting AS (
    SELECT p.cache, s.key, (array_agg(s.value ORDER BY p.partition))[1] AS value
    FROM part AS p, jsonb_each_text(p.settings) AS s
    GROUP BY p.cache, s.key
    HAVING min(s.value) <> max(s.value) OR bool_or(s.value IS NULL) <> bool_and(s.value IS NULL)
    UNION ALL
    -- The shares of a budget differ by 1 at most.
    SELECT p.cache, b.key, sum(b.value::bigint)::text
    FROM part AS p, jsonb_each_text(p.budget) AS b
    GROUP BY p.cache, b.key
    HAVING max(b.value::bigint) - min(b.value::bigint) > 1 OR bool_or(b.value IS NULL) <> bool_and(b.value IS NULL)
)
SELECT m.partitions::integer,
       p.cache,
       ARRAY(SELECT n FROM generate_series(0, m.partitions - 1) AS n
             EXCEPT SELECT o.partition FROM part AS o WHERE o.cache = p.cache ORDER BY 1),
       ARRAY(SELECT s.key FROM setting AS s WHERE s.cache = p.cache ORDER BY s.key),
       ARRAY(SELECT coalesce(s.value, '') FROM setting AS s WHERE s.cache = p.cache ORDER BY s.key)
FROM howdah.meta AS m
CROSS JOIN (SELECT DISTINCT q.cache FROM part AS q UNION ALL SELECT '' WHERE NOT EXISTS (SELECT FROM part)) AS p
WHERE m.partitions > 0
ORDER BY p.cache
