CREATE OR REPLACE FUNCTION howdah_internal._put_absent(settings howdah_internal.cache, key bytea, value bytea, ttl interval)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    hash   bigint;
    result bigint;
    other  boolean;  -- the slot holds another live key
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
        WHERE CASE WHEN c.expires_at <= statement_timestamp() THEN true
                   WHEN c.key = excluded.key THEN false
                   ELSE $5 <> 'sync' END
        RETURNING c.version
        $sql$, howdah_internal._table(settings))
    INTO result
    USING hash, howdah_internal._jitter(settings, howdah_internal._expiry(settings, ttl)),
          key, howdah_internal._check_value(value), settings.durability;
    IF result IS NULL AND settings.durability = 'sync' THEN
        EXECUTE format('SELECT c.key <> $2 AND c.expires_at > statement_timestamp() FROM %s AS c WHERE c.hash = $1', howdah_internal._table(settings))
        INTO other
        USING hash, key;
        IF other THEN
            PERFORM howdah_internal._evict(settings.durability);
        END IF;
    ELSIF result IS NOT NULL THEN
        PERFORM howdah_internal._log(settings, ARRAY[hash], ARRAY[key]);
        IF settings.events THEN
            PERFORM howdah_internal._announce_set(settings, ARRAY[key], ttl);
        END IF;
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah_internal._put_absent(howdah_internal.cache, bytea, bytea, interval) IS
'Internal. Stores a value if the key is absent or expired. Returns the version,
or NULL if the key exists.';

REVOKE ALL ON FUNCTION howdah_internal._put_absent(howdah_internal.cache, bytea, bytea, interval) FROM PUBLIC;
