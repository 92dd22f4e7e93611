-- Lets the commit of a transaction of upkeep wait for no disk, and its names mean
-- PostgreSQL's own.
SELECT set_config('synchronous_commit', 'off', true), set_config('search_path', 'pg_catalog, pg_temp', true)
