-- What PostgreSQL and upkeep know of the tables of the caches, by name, and of the
-- table of the sessions, which comes last. A cache in partitions has a row for each,
-- in their order, also for those that are on another server: of these, zeros.
--   $1 the name by which upkeep knows the sessions
WITH listed AS (
    SELECT coalesce(c.whole, c.name) AS name, coalesce(c.partition, 0) AS partition, c.partition IS NOT NULL AS part,
           false AS sessions, c.durability, c.eviction,
           coalesce(c.max_entries, 0) AS max_entries, coalesce(c.max_bytes, 0) AS max_bytes,
           c.full_since IS NOT NULL AS is_full, howdah_internal._table(c) AS relation, c.name AS noted,
           howdah_internal._is_here(c) AS here
    FROM howdah_internal.cache AS c
    UNION ALL
    SELECT 'sessions', 0, false, true, '', '', 0, 0, false, 'howdah.session', $1::text, true
)
SELECT l.name, l.part, l.sessions,
       CASE WHEN l.sessions THEN CASE t.relpersistence WHEN 'u' THEN 'unlogged' ELSE 'logged' END ELSE l.durability END,
       l.eviction, l.max_entries, l.max_bytes, l.is_full AND l.here, l.relation,
       l.here, coalesce(t.oid::bigint, 0), coalesce(greatest(t.reltuples, 0), 0)::float8,
       coalesce(t.relpages, 0) * current_setting('block_size')::bigint,
       coalesce(s.idx_scan, 0), coalesce(s.idx_tup_fetch, 0), coalesce(s.n_tup_ins, 0),
       coalesce(s.n_tup_upd, 0), coalesce(s.n_tup_hot_upd, 0), coalesce(s.n_tup_del, 0),
       coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0), greatest(s.last_vacuum, s.last_autovacuum),
       coalesce(io.heap_blks_read + io.idx_blks_read, 0), coalesce(io.heap_blks_hit + io.idx_blks_hit, 0),
       u.entries, u.bytes, coalesce(u.expired, 0), coalesce(u.evicted, 0), u.last_round
FROM listed AS l
LEFT JOIN LATERAL howdah_internal._class(to_regclass(l.relation)) AS t ON l.here AND t.relkind = 'r'
LEFT JOIN pg_stat_all_tables AS s ON s.relid = t.oid
LEFT JOIN pg_statio_all_tables AS io ON io.relid = t.oid
LEFT JOIN howdah.upkeep AS u ON u.cache = l.noted AND l.here
WHERE t.oid IS NOT NULL OR NOT l.here
ORDER BY l.sessions, l.name, l.partition
