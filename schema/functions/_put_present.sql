CREATE OR REPLACE FUNCTION howdah_internal._put_present(settings howdah_internal.cache, key bytea, expected bigint, value bytea, ttl interval)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    hash   bigint;
    result bigint;
BEGIN
    PERFORM howdah_internal._room(settings);
    hash := howdah.key_hash(howdah_internal._check_key(key));
    EXECUTE format($sql$
        UPDATE %s AS c
        SET version       = greatest(c.version + 1, howdah_internal._clock()),
            expires_at    = $3,
            value         = $4,
            kind          = DEFAULT,
            stale_seconds = DEFAULT,
            leased_until  = DEFAULT
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
          AND ($5 IS NULL OR c.version = $5)
        RETURNING c.version
        $sql$, howdah_internal._table(settings))
    INTO result
    USING hash, key,
          howdah_internal._jitter(settings, howdah_internal._expiry(settings, ttl)), howdah_internal._check_value(value), expected;
    IF result IS NOT NULL THEN
        PERFORM howdah_internal._log(settings, ARRAY[hash], ARRAY[key]);
        IF settings.events THEN
            PERFORM howdah_internal._announce_set(settings, ARRAY[key], ttl);
        END IF;
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah_internal._put_present(howdah_internal.cache, bytea, bigint, bytea, interval) IS
'Internal. Stores a value if the key exists, with the expected version unless
that is NULL. Returns the new version, or NULL.';

REVOKE ALL ON FUNCTION howdah_internal._put_present(howdah_internal.cache, bytea, bigint, bytea, interval) FROM PUBLIC;
