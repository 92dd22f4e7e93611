-- Moves a partition to another server. Who writes to it waits meanwhile: only this way takes
-- UNLOGGED tables along.
--   $1 schema, $2 host, $3 port
SELECT pg_catalog.citus_schema_move($1::text::regnamespace, $2::text, $3::integer, 'block_writes')
