-- The tables of caches that autovacuum has left behind, the worst first, and
-- whether this role may VACUUM them.
--   $1 how long the last VACUUM must be past
SELECT c.name, c.id, s.n_dead_tup, coalesce(s.last_vacuum, '1970-01-01'), pg_has_role(t.relowner, 'USAGE')
FROM howdah_internal.cache AS c
JOIN pg_class AS t ON t.relname = 'cache_' || c.id AND t.relnamespace = 'howdah_internal'::regnamespace
JOIN pg_stat_all_tables AS s ON s.relid = t.oid
WHERE s.n_dead_tup > 10000 + 0.2 * s.n_live_tup
  AND coalesce(greatest(s.last_vacuum, s.last_autovacuum), '-infinity') < statement_timestamp() - $1::interval
  AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum AS p WHERE p.relid = t.oid)
ORDER BY s.n_dead_tup DESC
