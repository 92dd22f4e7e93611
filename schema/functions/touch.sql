CREATE OR REPLACE FUNCTION howdah.touch(cache text, key bytea, ttl interval DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    touched  bigint;
BEGIN
    EXECUTE format($sql$
        UPDATE %s AS c
        SET expires_at = greatest(c.expires_at, $3)
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
        $sql$, howdah_internal._table(settings))
    USING howdah.key_hash(howdah_internal._check_key(key)), key, howdah_internal._expiry(settings, ttl);
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF touched > 0 AND settings.events THEN
        PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'g', 'expire', ARRAY[key]);
    END IF;
    RETURN touched > 0;
END
$$;

COMMENT ON FUNCTION howdah.touch(text, bytea, interval) IS
'Keeps an entry alive: extends its TTL, never shortens it. The version stays: to
keep a session alive must not defeat somebody''s howdah.compare_and_set.

cache: the name of a cache.
key: at most 65536 bytes.
ttl: from now; as in howdah.set, but without jitter.

Returns true if the key exists.
Errors: HW001 cache not found, HW007 key too long, HW009 invalid TTL, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.touch(text, bytea, interval) FROM PUBLIC;
