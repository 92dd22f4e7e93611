CREATE OR REPLACE FUNCTION howdah_internal._settings(cache text, key bytea) RETURNS howdah_internal.cache
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    settings howdah_internal.cache;
    number   smallint;
BEGIN
    SELECT c.* INTO settings FROM howdah_internal.cache AS c WHERE c.name = _settings.cache;
    IF FOUND AND settings.partition IS NULL THEN
        RETURN settings;
    END IF;

    number := howdah_internal._partition(key);
    IF settings.partition <> number THEN
        RAISE EXCEPTION 'The key does not belong to partition %, but to partition % of cache %.',
                        settings.partition, number, quote_literal(settings.whole)
            USING ERRCODE = 'HW012', HINT = format('Name the cache %L: the partition follows from the key.', settings.whole);
    ELSIF settings.id IS NOT NULL THEN
        PERFORM howdah_internal._elsewhere(settings) WHERE settings.shard IS NOT NULL;
        RETURN settings;
    END IF;
    SELECT c.* INTO settings FROM howdah_internal.cache AS c WHERE c.name = _settings.cache || '/' || lpad(number::text, 2, '0');
    IF NOT FOUND THEN
        IF EXISTS (SELECT FROM howdah_internal.cache AS c WHERE c.whole = _settings.cache) THEN
            PERFORM howdah_internal._check_key(key);  -- it is NULL
        END IF;
        PERFORM howdah_internal._no_cache(cache);
    END IF;
    PERFORM howdah_internal._elsewhere(settings) WHERE settings.shard IS NOT NULL;
    RETURN settings;
END
$$;

COMMENT ON FUNCTION howdah_internal._settings(text, bytea) IS
'Internal. The settings of a cache for one key: in a database with partitions, of the
partition of the key. The caller checks the key. Raises HW098 (on another server), HW001 (not found), HW002 (not a
name), HW012 (the caller named another partition than that of the key). Every verb on one key
calls it.';

REVOKE ALL ON FUNCTION howdah_internal._settings(text, bytea) FROM PUBLIC;
