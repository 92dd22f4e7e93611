CREATE OR REPLACE FUNCTION howdah._put_absent(settings howdah.cache, key bytea, value bytea, ttl interval)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    result bigint;
BEGIN
    PERFORM howdah._room(settings);
    EXECUTE format($sql$
        INSERT INTO howdah.%I AS c (hash, version, expires_at, key, value)
        VALUES ($1, howdah._clock(), $2, $3, $4)
        ON CONFLICT (hash) DO UPDATE
        SET version    = greatest(c.version + 1, excluded.version),
            expires_at = excluded.expires_at,
            key        = excluded.key,
            value      = excluded.value
        WHERE CASE WHEN c.expires_at <= statement_timestamp() THEN true
                   WHEN c.key = excluded.key THEN false
                   ELSE howdah._evict($5) END
        RETURNING c.version
        $sql$, 'cache_' || settings.name)
    INTO result
    USING howdah.key_hash(howdah._check_key(key)), howdah._jitter(settings, howdah._expiry(settings, ttl)),
          key, howdah._check_value(value), settings.durability;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah._put_absent(howdah.cache, bytea, bytea, interval) IS
'Internal. Stores a value if the key is absent or expired. Returns the version,
or NULL if the key exists.';

REVOKE ALL ON FUNCTION howdah._put_absent(howdah.cache, bytea, bytea, interval) FROM PUBLIC;
