CREATE OR REPLACE FUNCTION howdah_internal._lock_tables(settings howdah_internal.cache, mode text, deadline timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tbl text;
BEGIN
    PERFORM set_config('lock_timeout', greatest(1, ceil(extract(epoch FROM deadline - clock_timestamp()) * 1000))::text, true);
    FOREACH tbl IN ARRAY ARRAY[howdah_internal._table(settings), howdah_internal._tag_table(settings)] LOOP
        IF to_regclass(tbl) IS NOT NULL THEN  -- where it is missing, somebody repairs
            EXECUTE format('LOCK TABLE %s IN %s MODE', tbl, mode);
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION howdah_internal._lock_tables(howdah_internal.cache, text, timestamptz) IS
'Internal. Locks the tables of a cache or of one of its partitions, or raises 55P03 at the
deadline. It changes lock_timeout: the caller has a setting of its own.';

REVOKE ALL ON FUNCTION howdah_internal._lock_tables(howdah_internal.cache, text, timestamptz) FROM PUBLIC;
