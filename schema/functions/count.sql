CREATE OR REPLACE FUNCTION howdah.count(cache text) RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache;
    counted  bigint;
    result   bigint := 0;
BEGIN
    FOR settings IN SELECT p.* FROM howdah_internal._partitions(cache) AS p LOOP
        PERFORM howdah_internal._elsewhere(settings);
        EXECUTE format('SELECT count(*) FROM %s AS c WHERE c.expires_at > statement_timestamp()', howdah_internal._table(settings))
        INTO counted;
        result := result + counted;
    END LOOP;
    IF NOT FOUND THEN
        PERFORM howdah_internal._no_cache(cache);
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.count(text) IS
'The number of live entries, exactly: it reads the whole table. For an estimate at
no cost see howdah.caches.

cache: the name of a cache.

Errors: HW001 cache not found.';

REVOKE ALL ON FUNCTION howdah.count(text) FROM PUBLIC;
