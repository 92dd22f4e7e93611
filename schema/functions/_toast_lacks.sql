-- What _create_table gives the TOAST table. Citus leaves it out when it takes a table, and
-- again with each move.
CREATE OR REPLACE FUNCTION howdah_internal._toast_lacks(settings howdah_internal.cache) RETURNS text[]
LANGUAGE sql STABLE
AS $$
    SELECT array_agg('toast.' || o ORDER BY o)
    FROM howdah_internal._class(to_regclass(howdah_internal._table(settings))) AS t
    JOIN pg_catalog.pg_class AS s ON s.oid = t.reltoastrelid
    CROSS JOIN unnest(ARRAY[
        'autovacuum_vacuum_threshold=1000',
        'autovacuum_vacuum_scale_factor=0.01',
        'autovacuum_vacuum_insert_threshold=10000',
        'autovacuum_vacuum_insert_scale_factor=0.05',
        'autovacuum_vacuum_cost_delay=1',
        'autovacuum_vacuum_cost_limit=1000',
        'vacuum_truncate=off']) AS o
    WHERE o <> ALL (coalesce(s.reloptions, '{}'))
$$;

COMMENT ON FUNCTION howdah_internal._toast_lacks(howdah_internal.cache) IS
'Internal. The storage parameters for values out of line that the table of a cache, or of a
partition of one, lacks; NULL: none. The table must be on this server.';

REVOKE ALL ON FUNCTION howdah_internal._toast_lacks(howdah_internal.cache) FROM PUBLIC;
