-- The blocks of each table of a cache, and the bytes of the table, its indexes and its TOAST
-- table. One that is gone has no row.
--   $1 oids
SELECT c.oid::bigint,
       coalesce(pg_relation_size(c.oid), 0) / current_setting('block_size')::bigint,
       coalesce(pg_table_size(c.oid) - coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0), 0),
       coalesce(pg_indexes_size(c.oid), 0),
       coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
FROM pg_class AS c
WHERE c.oid = ANY ($1::bigint[]::oid[])
