CREATE OR REPLACE FUNCTION howdah.delete(cache text, key bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah.cache := howdah._settings(cache);
    deleted  bigint;
BEGIN
    EXECUTE format($sql$
        DELETE FROM howdah.%I AS c
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
        $sql$, 'cache_' || settings.name)
    USING howdah.key_hash(howdah._check_key(key)), key;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted > 0;
END
$$;

COMMENT ON FUNCTION howdah.delete(text, bytea) IS
'Removes a key.

cache: the name of a cache.
key: at most 65536 bytes.

Returns true if the key existed.
Errors: HW001 cache not found, HW007 key too long, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.delete(text, bytea) FROM PUBLIC;
