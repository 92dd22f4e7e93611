CREATE OR REPLACE FUNCTION howdah.count(cache text) RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._settings(cache);
    result   bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM howdah_internal.%I AS c WHERE c.expires_at > statement_timestamp()',
                   'cache_' || settings.id)
    INTO result;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.count(text) IS
'The number of live entries, exactly: it reads the whole table. For an estimate at
no cost see howdah.caches.

cache: the name of a cache.

Errors: HW001 cache not found.';

REVOKE ALL ON FUNCTION howdah.count(text) FROM PUBLIC;
