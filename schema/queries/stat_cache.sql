-- What is known of the table of one cache, or of those of its partitions, before some of
-- their blocks are read: the time, the table, its rows by PostgreSQL's running count (or by
-- the last ANALYZE, where the statistics were lost), and its blocks. The table of a partition
-- on another server is NULL. No row: there is no such cache.
--   $1 the name of the cache
SELECT statement_timestamp(),
       CASE WHEN h.here THEN howdah_internal._table(c) END,
       coalesce(nullif(pg_stat_get_live_tuples(t.oid), 0), greatest(t.reltuples, 0), 0)::float8,
       coalesce(pg_relation_size(t.oid), 0) / current_setting('block_size')::bigint
FROM howdah_internal.cache AS c
CROSS JOIN LATERAL (SELECT howdah_internal._is_here(c)) AS h (here)
LEFT JOIN LATERAL howdah_internal._class(to_regclass(howdah_internal._table(c))) AS t
  ON h.here
 AND t.relkind = 'r'
WHERE coalesce(c.whole, c.name) = $1
  AND (t.oid IS NOT NULL OR NOT h.here)
ORDER BY c.partition
