CREATE OR REPLACE FUNCTION howdah.invalidate_all(cache text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache;
    logged   boolean := false;
BEGIN
    FOR settings IN SELECT p.* FROM howdah_internal._partitions(cache) AS p LOOP
        PERFORM howdah_internal._stay(settings);
        PERFORM howdah_internal._log(settings, NULL);
        logged := 'near' = ANY (settings.features);
    END LOOP;
    IF NOT FOUND THEN
        PERFORM howdah_internal._no_cache(cache);
    END IF;
    RETURN logged;
END
$$;

COMMENT ON FUNCTION howdah.invalidate_all(text) IS
'Tells every program to drop what it keeps of a cache in its memory. Needed only
after the owner of the tables has changed entries by statements of their own, which
the change log does not see; call it in the same transaction.

cache: the name of a cache.

Returns true if the cache has a change log, false if there is nothing to do.
Errors: HW001 cache not found.';

REVOKE ALL ON FUNCTION howdah.invalidate_all(text) FROM PUBLIC;
