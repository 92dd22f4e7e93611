CREATE OR REPLACE FUNCTION howdah.expire(cache text, key bytea, ttl interval DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    hash     CONSTANT bigint := howdah.key_hash(howdah_internal._check_key(key));
    changed  bigint;
BEGIN
    EXECUTE format($sql$
        UPDATE %s AS c
        SET version      = greatest(c.version + 1, howdah_internal._clock()),
            expires_at   = $3,
            leased_until = DEFAULT
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
        $sql$, howdah_internal._table(settings))
    USING hash, key, howdah_internal._expiry(settings, ttl);
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed > 0 THEN
        PERFORM howdah_internal._log(settings, ARRAY[hash], ARRAY[key]);
        IF settings.events THEN
            PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'g', CASE WHEN ttl >= howdah.no_expiry() THEN 'persist' ELSE 'expire' END, ARRAY[key]);
        END IF;
    END IF;
    RETURN changed > 0;
END
$$;

COMMENT ON FUNCTION howdah.expire(text, bytea, interval) IS
'Sets the TTL of an entry, longer or shorter. The entry gets a new version.

cache: the name of a cache.
key: at most 65536 bytes.
ttl: from now; as in howdah.set, but without jitter.

Returns true if the key exists.
Errors: HW001 cache not found, HW007 key too long, HW009 invalid TTL, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.expire(text, bytea, interval) FROM PUBLIC;
