CREATE OR REPLACE FUNCTION howdah_internal._rename_table(former integer, new integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    EXECUTE format('ALTER TABLE howdah_internal.cache_%s RENAME TO cache_%s', former, new);
    EXECUTE format('ALTER INDEX howdah_internal.cache_%s_pkey RENAME TO cache_%s_pkey', former, new);
    EXECUTE format('ALTER INDEX IF EXISTS howdah_internal.cache_%s_prefix RENAME TO cache_%s_prefix', former, new);
    EXECUTE format('ALTER TABLE howdah_internal.tag_%s RENAME TO tag_%s', former, new);
    EXECUTE format('ALTER INDEX howdah_internal.tag_%s_pkey RENAME TO tag_%s_pkey', former, new);
    EXECUTE format('ALTER INDEX howdah_internal.tag_%s_tag RENAME TO tag_%s_tag', former, new);
END
$$;

COMMENT ON FUNCTION howdah_internal._rename_table(integer, integer) IS
'Internal. Gives the tables of a cache another id: statements that were made for the
former one fail with 42P01. The caller holds the tables in ACCESS EXCLUSIVE mode, and
writes the id into howdah_internal.cache.';

REVOKE ALL ON FUNCTION howdah_internal._rename_table(integer, integer) FROM PUBLIC;
