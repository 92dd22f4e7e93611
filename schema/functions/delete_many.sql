CREATE OR REPLACE FUNCTION howdah.delete_many(cache text, keys bytea[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah.cache := howdah._settings(cache);
    deleted  bigint;
BEGIN
    -- Locks first, by hash: the order of every statement on many rows.
    EXECUTE format($sql$
        WITH doomed AS MATERIALIZED (
            SELECT c.hash
            FROM howdah.%1$I AS c
            WHERE c.hash = ANY ($1) AND c.key = ANY ($2) AND c.expires_at > statement_timestamp()
            ORDER BY c.hash
            FOR UPDATE
        )
        DELETE FROM howdah.%1$I AS c WHERE c.hash = ANY (ARRAY(SELECT d.hash FROM doomed AS d))
        $sql$, 'cache_' || settings.name)
    USING howdah._key_hashes(keys), keys;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;

COMMENT ON FUNCTION howdah.delete_many(text, bytea[]) IS
'Removes many keys, all or none.

cache: the name of a cache.
keys: each at most 65536 bytes; none NULL.

Returns how many of them existed.
Errors: HW001 cache not found, HW007 key too long, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.delete_many(text, bytea[]) FROM PUBLIC;
