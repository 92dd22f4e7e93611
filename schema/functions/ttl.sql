CREATE OR REPLACE FUNCTION howdah.ttl(cache text, key bytea) RETURNS interval
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._settings(cache, key);
    result   interval;
BEGIN
    EXECUTE format($sql$
        SELECT CASE WHEN c.expires_at < 'infinity' THEN c.expires_at - statement_timestamp()
                    ELSE howdah.no_expiry() END
        FROM %s AS c
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
        ORDER BY c.version DESC  -- REPEATABLE READ may show an old row beside the own one
        LIMIT 1
        $sql$, howdah_internal._table(settings))
    INTO result
    USING howdah.key_hash(howdah_internal._check_key(key)), key;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.ttl(text, bytea) IS
'The TTL that remains to an entry, to the microsecond; howdah.no_expiry() if it
does not expire; NULL if the key is absent or expired.

cache: the name of a cache.
key: at most 65536 bytes.

Errors: HW001 cache not found, HW007 key too long, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.ttl(text, bytea) FROM PUBLIC;
