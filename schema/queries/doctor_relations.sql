-- What PostgreSQL knows of the tables of doctor_candidates.sql, those of Howdah
-- first.
SELECT c.oid, n.nspname::text, c.relname::text, c.relpersistence::text,
       coalesce(c.reloptions, '{}'), coalesce(t.reloptions, '{}'), c.reltuples::float8,
       greatest(age(nullif(c.relfrozenxid, '0')), age(nullif(t.relfrozenxid, '0')), 0)::bigint,
       coalesce(pg_table_size(c.oid) - coalesce(pg_total_relation_size(t.oid), 0), 0), coalesce(pg_indexes_size(c.oid), 0),
       coalesce(pg_total_relation_size(t.oid), 0), pg_has_role(c.relowner, 'USAGE'),
       coalesce(s.seq_scan, 0), coalesce(s.idx_scan, 0),
       coalesce(s.n_tup_ins, 0), coalesce(s.n_tup_upd, 0), coalesce(s.n_tup_hot_upd, 0), coalesce(s.n_tup_del, 0),
       coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0),
       coalesce(s.last_analyze, s.last_autoanalyze) IS NOT NULL OR c.reltuples >= 0,
       coalesce(io.heap_blks_read, 0), coalesce(io.heap_blks_hit, 0)
FROM candidate AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid
LEFT JOIN pg_statio_all_tables AS io ON io.relid = c.oid
ORDER BY n.nspname NOT IN ('howdah', 'howdah_internal'), n.nspname DESC, c.relname
