CREATE OR REPLACE FUNCTION howdah.release(cache text, key bytea, token bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    hash     CONSTANT bigint := howdah.key_hash(howdah_internal._check_key(key));
    ended    bigint;
BEGIN
    -- As schema/statements/release.sql.
    EXECUTE format($sql$
        WITH slot AS MATERIALIZED (
            SELECT c.hash, c.expires_at = '-infinity' AND c.accessed = 0 AS empty
            FROM %1$s AS c
            WHERE c.hash = $1 AND c.key = $2 AND c.version = $3 AND c.leased_until > statement_timestamp()
            FOR UPDATE SKIP LOCKED
        ), gone AS (
            DELETE FROM %1$s AS c WHERE c.hash = (SELECT s.hash FROM slot AS s WHERE s.empty)
        ), kept AS (
            UPDATE %1$s AS c SET leased_until = DEFAULT
            WHERE c.hash = (SELECT s.hash FROM slot AS s WHERE NOT s.empty)
        )
        SELECT count(*) FROM slot
        $sql$, howdah_internal._table(settings))
    INTO ended
    USING hash, key, token;
    IF ended > 0 THEN
        PERFORM howdah_internal._log(settings, ARRAY[hash], ARRAY[key]);
    END IF;
    RETURN ended > 0;
END
$$;

COMMENT ON FUNCTION howdah.release(text, bytea, bigint) IS
'Ends a lease whose load failed, so that the next caller of howdah.claim wins it at
once.

cache: the name of a cache.
key: at most 65536 bytes.
token: from howdah.claim.

Returns true if the lease was still this one.
Errors: HW001 cache not found, HW007 key too long, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.release(text, bytea, bigint) FROM PUBLIC;
