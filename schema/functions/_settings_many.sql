CREATE OR REPLACE FUNCTION howdah_internal._settings_many(cache text, keys bytea[]) RETURNS howdah_internal.cache
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    settings howdah_internal.cache;
    lowest   smallint;
    highest  smallint;
BEGIN
    SELECT c.* INTO settings FROM howdah_internal.cache AS c WHERE c.name = _settings_many.cache;
    IF FOUND AND settings.partition IS NULL THEN
        RETURN settings;
    END IF;

    SELECT min(p.number), max(p.number) INTO lowest, highest
    FROM (SELECT howdah_internal._partition(k.key) AS number FROM unnest(keys) AS k (key) OFFSET 0) AS p;
    IF settings.partition <> lowest OR settings.partition <> highest THEN
        RAISE EXCEPTION 'Some keys do not belong to partition % of cache %.', settings.partition, quote_literal(settings.whole)
            USING ERRCODE = 'HW012', HINT = format('Name the cache %L: partitions follow from the keys.', settings.whole);
    ELSIF settings.id IS NOT NULL THEN
        PERFORM howdah_internal._elsewhere(settings) WHERE settings.shard IS NOT NULL;
        RETURN settings;
    END IF;
    SELECT c.* INTO settings FROM howdah_internal.cache AS c
    WHERE c.whole = _settings_many.cache AND (c.partition = lowest OR lowest IS NULL)
    LIMIT 1;
    IF NOT FOUND THEN
        PERFORM howdah_internal._no_cache(cache);
    ELSIF lowest IS DISTINCT FROM highest OR lowest IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM howdah_internal._elsewhere(settings) WHERE settings.shard IS NOT NULL;
    RETURN settings;
END
$$;

COMMENT ON FUNCTION howdah_internal._settings_many(text, bytea[]) IS
'Internal. _settings for many keys. NULL: they belong to several partitions, or there are none;
the caller goes over the rows of _split.';

REVOKE ALL ON FUNCTION howdah_internal._settings_many(text, bytea[]) FROM PUBLIC;
