-- The change log: the caches that have one; the seconds since it began, and since it
-- was last trimmed, negative: it is not begun; how often it was trimmed; whether it
-- has rows; its bytes on disk; how often it was read since it began, negative:
-- not known, because the statistics were reset since; and the transactions that were
-- prepared before it began, where a cache with a log survives a crash.
SELECT ARRAY(SELECT DISTINCT coalesce(c.whole, c.name) FROM howdah_internal.cache AS c WHERE 'near' = ANY (c.features) ORDER BY 1),
       coalesce(extract(epoch FROM clock_timestamp() - s.lit_at), -1)::float8,
       coalesce(extract(epoch FROM clock_timestamp() - s.ticked_at), -1)::float8,
       coalesce(s.tick, 0),
       EXISTS (SELECT FROM howdah_internal.change),
       pg_total_relation_size('howdah_internal.change'),
       CASE WHEN d.stats_reset > s.lit_at THEN -1 ELSE coalesce(t.seq_scan + t.idx_scan, -1) END,
       ARRAY(SELECT p.gid
             FROM pg_prepared_xacts AS p
             WHERE p.database = current_database()
               AND age(p.transaction) > age(s.lit_xid::xid)
               AND EXISTS (SELECT FROM howdah_internal.cache AS c
                           WHERE 'near' = ANY (c.features) AND c.durability <> 'unlogged')
             ORDER BY p.gid)
FROM (SELECT) AS one
LEFT JOIN howdah_internal.change_state AS s ON true
LEFT JOIN pg_stat_database AS d ON d.datname = current_database()
LEFT JOIN pg_stat_all_tables AS t ON t.relid = 'howdah_internal.change'::regclass
