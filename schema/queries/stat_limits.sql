-- Bounds the transaction of one query. Names mean what they say, whatever the
-- search_path of the session is.
--   $1 statement_timeout and $2 lock_timeout in milliseconds
SELECT set_config('statement_timeout', $1, true),
       set_config('lock_timeout', $2, true),
       set_config('search_path', 'pg_catalog, pg_temp', true),
       -- Citus hides its shards from those who read the catalog.
       set_config('citus.override_table_visibility', 'off', true)
