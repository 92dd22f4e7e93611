-- The tables of caches that autovacuum has left behind, and that of the change log,
-- the worst first, and whether this role may VACUUM them. The view pg_stat_all_tables would
-- ask for the statistics of every table of the database.
--   $1 how long the last VACUUM must be past
SELECT c.name, c.relation, s.n_dead_tup, coalesce(s.last_vacuum, '1970-01-01'), pg_has_role(t.relowner, 'USAGE')
FROM (SELECT h.name, howdah_internal._table(h) FROM howdah_internal.cache AS h WHERE howdah_internal._is_here(h)
      UNION ALL SELECT 'howdah_internal.change', 'howdah_internal.change') AS c (name, relation)
CROSS JOIN LATERAL howdah_internal._class(to_regclass(c.relation)) AS t
CROSS JOIN LATERAL (SELECT pg_stat_get_dead_tuples(t.oid), pg_stat_get_live_tuples(t.oid),
                           pg_stat_get_last_vacuum_time(t.oid), pg_stat_get_last_autovacuum_time(t.oid))
  AS s (n_dead_tup, n_live_tup, last_vacuum, last_autovacuum)
WHERE s.n_dead_tup > 10000 + 0.2 * s.n_live_tup
  AND coalesce(greatest(s.last_vacuum, s.last_autovacuum), '-infinity') < statement_timestamp() - $1::interval
  AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum AS p WHERE p.relid = t.oid)
ORDER BY s.n_dead_tup DESC
