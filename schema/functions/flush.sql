CREATE OR REPLACE FUNCTION howdah.flush(cache text) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- For all partitions: those that are truncated keep everybody waiting meanwhile.
    deadline CONSTANT timestamptz := clock_timestamp() + interval '100 milliseconds';
    settings howdah_internal.cache;
    way      text;
    result   text := 'truncate';
BEGIN
    FOR settings IN SELECT p.* FROM howdah_internal._partitions(cache) AS p LOOP
        PERFORM howdah_internal._stay(settings);
        way := howdah_internal._flush(settings, deadline);
        IF way <> 'truncate' THEN
            result := way;
        END IF;
    END LOOP;
    IF NOT FOUND THEN
        PERFORM howdah_internal._no_cache(cache);
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.flush(text) IS
'Removes every entry. It truncates the table if it gets the lock within 100 ms and
the disk has room for the new, empty files, and deletes row by row otherwise. Call it by itself: in a longer transaction the
lock of TRUNCATE keeps everybody else waiting until the end, and a transaction
with an older snapshot sees an empty cache.

cache: the name of a cache.

Returns truncate or delete: how it was done; of a cache in partitions delete, if one of them
was not truncated.
Errors: HW001 cache not found.';

REVOKE ALL ON FUNCTION howdah.flush(text) FROM PUBLIC;
