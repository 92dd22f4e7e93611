CREATE OR REPLACE FUNCTION howdah_internal._flush(settings howdah_internal.cache, deadline timestamptz) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tbl   CONSTANT text := howdah_internal._table(settings);
    waits CONSTANT text := current_setting('lock_timeout');
BEGIN
    BEGIN
        -- While TRUNCATE waits for its lock, every other user of the cache
        -- waits behind it: one old reader must not stop them all.
        PERFORM set_config('lock_timeout', greatest(1, ceil(extract(epoch FROM deadline - clock_timestamp()) * 1000))::text, true);
        -- The marks of tags go too: what was claimed before fails for lack of its row.
        EXECUTE format('TRUNCATE %s, %s', tbl, howdah_internal._tag_table(settings));
        PERFORM set_config('lock_timeout', waits, true);
        PERFORM howdah_internal._log(settings, NULL);
        RETURN 'truncate';
    EXCEPTION
        -- disk_full: TRUNCATE makes new files, and DELETE needs none.
        WHEN lock_not_available OR disk_full THEN
            NULL;  -- lock_timeout is back with the rest
    END;

    -- Locks first, by hash: the order of every statement on many rows.
    EXECUTE format($sql$
        WITH doomed AS MATERIALIZED (
            SELECT c.hash FROM %1$s AS c ORDER BY c.hash FOR UPDATE
        )
        DELETE FROM %1$s AS c WHERE c.hash = ANY (ARRAY(SELECT d.hash FROM doomed AS d))
        $sql$, tbl);
    PERFORM howdah_internal._log(settings, NULL);
    RETURN 'delete';
END
$$;

COMMENT ON FUNCTION howdah_internal._flush(howdah_internal.cache, timestamptz) IS
'Internal. Removes every entry of a cache or of one of its partitions, by TRUNCATE if it gets the
lock before the deadline (or within 1 ms), and row by row otherwise. Returns truncate or delete.';

REVOKE ALL ON FUNCTION howdah_internal._flush(howdah_internal.cache, timestamptz) FROM PUBLIC;
