CREATE OR REPLACE FUNCTION howdah.flush(cache text) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache  := howdah_internal._settings(cache);
    tbl      CONSTANT text := format('howdah_internal.%I', 'cache_' || settings.id);
    waits    CONSTANT text := current_setting('lock_timeout');
BEGIN
    BEGIN
        -- While TRUNCATE waits for its lock, every other user of the cache
        -- waits behind it: one old reader must not stop them all.
        PERFORM set_config('lock_timeout', '100ms', true);
        -- The marks of tags go too: what was claimed before fails for lack of its row.
        EXECUTE format('TRUNCATE %s, howdah_internal.%I', tbl, 'tag_' || settings.id);
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

COMMENT ON FUNCTION howdah.flush(text) IS
'Removes every entry. It truncates the table if it gets the lock within 100 ms and
the disk has room for the new, empty files, and deletes row by row otherwise. Call it by itself: in a longer transaction the
lock of TRUNCATE keeps everybody else waiting until the end, and a transaction
with an older snapshot sees an empty cache.

cache: the name of a cache.

Returns truncate or delete: how it was done.
Errors: HW001 cache not found.';

REVOKE ALL ON FUNCTION howdah.flush(text) FROM PUBLIC;
