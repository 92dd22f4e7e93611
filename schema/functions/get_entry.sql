CREATE OR REPLACE FUNCTION howdah.get_entry(cache text, key bytea)
RETURNS TABLE (value bytea, version bigint, expires_at timestamptz, ttl interval)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._settings(cache, key);
    kind     smallint;
BEGIN
    EXECUTE format($sql$
        SELECT c.kind,
               CASE WHEN c.kind = 0 THEN c.value END,
               c.version,
               nullif(c.expires_at, 'infinity'),
               CASE WHEN c.expires_at < 'infinity' THEN c.expires_at - statement_timestamp()
                    ELSE howdah.no_expiry() END
        FROM %s AS c
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
        ORDER BY c.version DESC  -- REPEATABLE READ may show an old row beside the own one
        LIMIT 1
        $sql$, howdah_internal._table(settings))
    INTO kind, value, version, expires_at, ttl
    USING howdah.key_hash(howdah_internal._check_key(key)), key;
    -- Raised here, not in the statement, whose text PostgreSQL would add to the error.
    IF kind <> 0 THEN
        PERFORM howdah_internal._refuse_kind(kind);
    ELSIF kind = 0 THEN
        RETURN NEXT;
    END IF;
END
$$;

COMMENT ON FUNCTION howdah.get_entry(text, bytea) IS
'Reads one entry: its value, its version (for howdah.compare_and_set), when it
expires (NULL: it does not) and the TTL that remains (howdah.no_expiry(): none).
No row: the key is absent or expired.

cache: the name of a cache.
key: at most 65536 bytes.

Errors: HW001 cache not found, HW007 key too long, HW012 NULL, HW018 the key holds a
collection.';

REVOKE ALL ON FUNCTION howdah.get_entry(text, bytea) FROM PUBLIC;
