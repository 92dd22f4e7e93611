-- Citus hides its shards from those who read the catalog.
CREATE OR REPLACE FUNCTION howdah_internal._class(relation regclass) RETURNS SETOF pg_class
LANGUAGE plpgsql STABLE STRICT ROWS 1
AS $$
BEGIN
    IF howdah_internal._placed() THEN
        PERFORM pg_catalog.set_config('citus.override_table_visibility', 'off', true);
    END IF;
    RETURN QUERY SELECT c.* FROM pg_catalog.pg_class AS c WHERE c.oid = relation;
END
$$;

COMMENT ON FUNCTION howdah_internal._class(regclass) IS
'Internal. The row of pg_class of a table, also of one that Citus has placed here; no row for NULL.';

REVOKE ALL ON FUNCTION howdah_internal._class(regclass) FROM PUBLIC;
