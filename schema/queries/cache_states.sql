-- What monitoring shows of every cache, of all its partitions together: its budget, what the
-- last round of upkeep estimated, what the rounds removed, and what PostgreSQL knows of its
-- table. The entries of a cache without a budget are PostgreSQL's estimate, those
-- that have expired included. Of partitions the round and the VACUUM are told that are
-- longest ago. All but the budget is of this server alone; the last columns say whether it has
-- a table of the cache, and whether one of them refuses writes. Nothing but catalogs and the counters of the statistics is read, and
-- no table is opened.
SELECT coalesce(c.whole, c.name),
       coalesce(sum(c.max_entries), 0)::bigint,
       coalesce(sum(c.max_bytes), 0)::bigint,
       sum(coalesce(u.entries, greatest(t.reltuples, 0)::bigint, 0))::bigint,
       sum(coalesce(u.bytes, 0))::bigint,
       sum(coalesce(t.relpages, 0) + coalesce(toast.relpages, 0))::bigint * current_setting('block_size')::bigint,
       sum(coalesce(u.expired, 0))::bigint,
       sum(coalesce(u.evicted, 0))::bigint,
       coalesce(min(coalesce(extract(epoch FROM u.last_round), 0)) FILTER (WHERE h.here), 0)::float8,
       sum(coalesce(i.relpages, 0))::bigint * current_setting('block_size')::bigint,
       sum(coalesce(pg_catalog.pg_stat_get_dead_tuples(t.oid), 0))::bigint,
       coalesce(min(coalesce(extract(epoch FROM greatest(
           pg_catalog.pg_stat_get_last_vacuum_time(t.oid), pg_catalog.pg_stat_get_last_autovacuum_time(t.oid))), 0)) FILTER (WHERE h.here), 0)::float8,
       bool_or(h.here),
       coalesce(bool_or(c.full_since IS NOT NULL) FILTER (WHERE h.here), false)
FROM howdah_internal.cache AS c
CROSS JOIN LATERAL (SELECT howdah_internal._is_here(c)) AS h (here)
LEFT JOIN howdah.upkeep AS u ON u.cache = c.name AND h.here
LEFT JOIN LATERAL howdah_internal._class(pg_catalog.to_regclass(howdah_internal._table(c))) AS t ON h.here
LEFT JOIN pg_catalog.pg_class AS toast ON toast.oid = t.reltoastrelid
LEFT JOIN pg_catalog.pg_index AS k ON k.indrelid = t.oid AND k.indisprimary
LEFT JOIN LATERAL howdah_internal._class(k.indexrelid) AS i ON true
GROUP BY coalesce(c.whole, c.name)
ORDER BY coalesce(c.whole, c.name)
