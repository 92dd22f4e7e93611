CREATE OR REPLACE FUNCTION howdah.set(cache text, key bytea, value bytea, ttl interval DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    hash     bigint;
    result   bigint;
BEGIN
    PERFORM howdah_internal._room(settings);
    hash := howdah.key_hash(howdah_internal._check_key(key));
    EXECUTE format($sql$
        INSERT INTO %s AS c (hash, version, expires_at, key, value)
        VALUES ($1, howdah_internal._clock(), $2, $3, $4)
        ON CONFLICT (hash) DO UPDATE
        SET version       = greatest(c.version + 1, excluded.version),
            expires_at    = excluded.expires_at,
            key           = excluded.key,
            value         = excluded.value,
            kind          = excluded.kind,
            stale_seconds = excluded.stale_seconds,
            leased_until  = excluded.leased_until
        WHERE c.key = excluded.key OR c.expires_at <= statement_timestamp() OR $5 <> 'sync'
        RETURNING c.version
        $sql$, howdah_internal._table(settings))
    INTO result
    USING hash, howdah_internal._jitter(settings, howdah_internal._expiry(settings, ttl)),
          key, howdah_internal._check_value(value), settings.durability;
    IF result IS NULL THEN
        PERFORM howdah_internal._evict(settings.durability);
    END IF;
    PERFORM howdah_internal._log(settings, ARRAY[hash], ARRAY[key]);
    IF settings.events THEN
        PERFORM howdah_internal._announce_set(settings, ARRAY[key], ttl);
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.set(text, bytea, bytea, interval) IS
'Stores a value, whether the key exists or not; TTL included, nothing of an older
entry remains.

cache: the name of a cache.
key: at most 65536 bytes.
value: at most 512 MiB.
ttl: NULL: the default of the cache; howdah.no_expiry(): none. The maximum of the
cache caps it, and its ttl_jitter shortens it at random.

Returns the version of the entry, which is greater than any the key had.
Errors: HW001 cache not found, HW007 key too long, HW008 value too large, HW009
invalid TTL, HW010 collision (class sync), HW011 full, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.set(text, bytea, bytea, interval) FROM PUBLIC;
