CREATE OR REPLACE FUNCTION howdah.type(cache text, key bytea) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._settings(cache, key);
    kind     smallint;
BEGIN
    EXECUTE format($sql$
        SELECT c.kind
        FROM %s AS c
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
        ORDER BY c.version DESC  -- REPEATABLE READ may show an old row beside the own one
        LIMIT 1
        $sql$, howdah_internal._table(settings))
    INTO kind
    USING howdah.key_hash(howdah_internal._check_key(key)), key;
    RETURN CASE WHEN kind IS NOT NULL THEN howdah_internal._kind_name(kind) END;
END
$$;

COMMENT ON FUNCTION howdah.type(text, bytea) IS
'Says what a key holds, in the words of Redis: string, hash, list, set or zset (a
sorted set). NULL: the key is absent or expired.

cache: the name of a cache.
key: at most 65536 bytes.

Errors: HW001 cache not found, HW007 key too long, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.type(text, bytea) FROM PUBLIC;
