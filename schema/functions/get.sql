CREATE OR REPLACE FUNCTION howdah.get(cache text, key bytea) RETURNS bytea
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._settings(cache, key);
    result   bytea;
    kind     smallint;
BEGIN
    EXECUTE format($sql$
        SELECT CASE WHEN c.kind = 0 THEN c.value END, c.kind
        FROM %s AS c
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
        ORDER BY c.version DESC  -- REPEATABLE READ may show an old row beside the own one
        LIMIT 1
        $sql$, howdah_internal._table(settings))
    INTO result, kind
    USING howdah.key_hash(howdah_internal._check_key(key)), key;
    -- Raised here, not in the statement, whose text PostgreSQL would add to the error.
    IF kind <> 0 THEN
        PERFORM howdah_internal._refuse_kind(kind);
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.get(text, bytea) IS
'Reads one value. NULL: the key is absent or expired.

cache: the name of a cache.
key: at most 65536 bytes; the empty key is a key.

Errors: HW001 cache not found, HW007 key too long, HW012 NULL, HW018 the key holds a
collection.';

REVOKE ALL ON FUNCTION howdah.get(text, bytea) FROM PUBLIC;
