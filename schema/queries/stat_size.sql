-- The blocks of the tables of a cache, and the bytes of the tables, their indexes and their
-- TOAST tables; zeros if they are gone.
--   $1 oids
SELECT coalesce(sum(pg_relation_size(c.oid)), 0)::bigint / current_setting('block_size')::bigint,
       coalesce(sum(pg_table_size(c.oid) - coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)), 0)::bigint,
       coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint,
       coalesce(sum(pg_total_relation_size(nullif(c.reltoastrelid, 0))), 0)::bigint
FROM pg_class AS c
WHERE c.oid = ANY ($1::bigint[]::oid[])
