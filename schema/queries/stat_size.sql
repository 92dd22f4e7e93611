-- The blocks of a table, and the bytes of the table, its indexes and its TOAST
-- table; zeros if it is gone.
--   $1 oid
SELECT coalesce(pg_relation_size(c.oid), 0) / current_setting('block_size')::bigint,
       coalesce(pg_table_size(c.oid) - coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0), 0),
       coalesce(pg_indexes_size(c.oid), 0),
       coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
FROM pg_class AS c
WHERE c.oid = $1
UNION ALL SELECT 0, 0, 0, 0 LIMIT 1
