CREATE OR REPLACE FUNCTION howdah_internal._rename_table(settings howdah_internal.cache, new integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tbl  CONSTANT text := howdah_internal._table(settings);
    tags CONSTANT text := howdah_internal._tag_table(settings);
BEGIN
    -- The indexes first: Citus looks for them by their table.
    EXECUTE format('ALTER INDEX %s_pkey RENAME TO cache_%s_pkey', tbl, new);
    IF to_regclass(tbl || '_prefix') IS NOT NULL THEN
        EXECUTE format('ALTER INDEX %s_prefix RENAME TO cache_%s_prefix', tbl, new);
    END IF;
    EXECUTE format('ALTER TABLE %s RENAME TO cache_%s', tbl, new);
    EXECUTE format('ALTER INDEX %s_pkey RENAME TO tag_%s_pkey', tags, new);
    EXECUTE format('ALTER INDEX %s_tag RENAME TO tag_%s_tag', tags, new);
    EXECUTE format('ALTER TABLE %s RENAME TO tag_%s', tags, new);
END
$$;

COMMENT ON FUNCTION howdah_internal._rename_table(howdah_internal.cache, integer) IS
'Internal. Gives the tables of a cache another id: statements that were made for the
former one fail with 42P01. The caller holds the tables in ACCESS EXCLUSIVE mode, and
writes the id into howdah_internal.cache.';

REVOKE ALL ON FUNCTION howdah_internal._rename_table(howdah_internal.cache, integer) FROM PUBLIC;
