CREATE OR REPLACE FUNCTION howdah_internal._rename_table(settings howdah_internal.cache, new integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s RENAME TO cache_%s', howdah_internal._table(settings), new);
    EXECUTE format('ALTER INDEX howdah_internal.cache_%s_pkey RENAME TO cache_%s_pkey', settings.id, new);
    EXECUTE format('ALTER INDEX IF EXISTS howdah_internal.cache_%s_prefix RENAME TO cache_%s_prefix', settings.id, new);
    EXECUTE format('ALTER TABLE %s RENAME TO tag_%s', howdah_internal._tag_table(settings), new);
    EXECUTE format('ALTER INDEX howdah_internal.tag_%s_pkey RENAME TO tag_%s_pkey', settings.id, new);
    EXECUTE format('ALTER INDEX howdah_internal.tag_%s_tag RENAME TO tag_%s_tag', settings.id, new);
END
$$;

COMMENT ON FUNCTION howdah_internal._rename_table(howdah_internal.cache, integer) IS
'Internal. Gives the tables of a cache another id: statements that were made for the
former one fail with 42P01. The caller holds the tables in ACCESS EXCLUSIVE mode, and
writes the id into howdah_internal.cache.';

REVOKE ALL ON FUNCTION howdah_internal._rename_table(howdah_internal.cache, integer) FROM PUBLIC;
