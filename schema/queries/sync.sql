-- Has PostgreSQL write its log to disk, up to and with all commits that were acknowledged: the commit of this
-- statement waits for the disk, whatever synchronous_commit the role has.
SELECT pg_catalog.set_config('synchronous_commit', 'on', true), pg_catalog.pg_logical_emit_message(true, 'howdah', 'sync')::text
