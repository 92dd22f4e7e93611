CREATE OR REPLACE FUNCTION howdah._put_present(settings howdah.cache, key bytea, expected bigint, value bytea, ttl interval)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    result bigint;
BEGIN
    PERFORM howdah._room(settings);
    EXECUTE format($sql$
        UPDATE howdah.%I AS c
        SET version    = greatest(c.version + 1, howdah._clock()),
            expires_at = $3,
            value      = $4
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
          AND ($5 IS NULL OR c.version = $5)
        RETURNING c.version
        $sql$, 'cache_' || settings.name)
    INTO result
    USING howdah.key_hash(howdah._check_key(key)), key,
          howdah._jitter(settings, howdah._expiry(settings, ttl)), howdah._check_value(value), expected;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah._put_present(howdah.cache, bytea, bigint, bytea, interval) IS
'Internal. Stores a value if the key exists, with the expected version unless
that is NULL. Returns the new version, or NULL.';

REVOKE ALL ON FUNCTION howdah._put_present(howdah.cache, bytea, bigint, bytea, interval) FROM PUBLIC;
