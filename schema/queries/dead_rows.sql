-- The dead rows of a table, and whether it was vacuumed after a time.
--   $1 table, $2 time
SELECT s.n_dead_tup, coalesce(s.last_vacuum > $2, false)
FROM pg_stat_all_tables AS s
WHERE s.relid = $1::text::regclass
