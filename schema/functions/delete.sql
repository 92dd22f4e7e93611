CREATE OR REPLACE FUNCTION howdah.delete(cache text, key bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    hash     CONSTANT bigint := howdah.key_hash(howdah_internal._check_key(key));
    live     boolean;  -- NULL: there was no row
BEGIN
    -- What this transaction is changing, nobody may load and store before it ends:
    -- where there is no row, the place of the key is held.
    FOR attempt IN 1..2 LOOP
        EXECUTE format($sql$
            DELETE FROM %s AS c
            WHERE c.hash = $1 AND c.key = $2
            RETURNING c.expires_at > statement_timestamp()
            $sql$, howdah_internal._table(settings))
        INTO live
        USING hash, key;
        EXIT WHEN live IS NOT NULL OR attempt = 2;
        PERFORM howdah_internal._hold(settings, ARRAY[hash], ARRAY[key]);
    END LOOP;
    IF live THEN
        PERFORM howdah_internal._log(settings, ARRAY[hash], ARRAY[key]);
        IF settings.events THEN
            PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'g', 'del', ARRAY[key]);
        END IF;
    END IF;
    RETURN coalesce(live, false);
END
$$;

COMMENT ON FUNCTION howdah.delete(text, bytea) IS
'Removes a key, and the row of an expired entry with it. Until the transaction ends,
no other one can store or claim the key.

cache: the name of a cache.
key: at most 65536 bytes.

Returns true if the key existed; an expired entry does not.
Errors: HW001 cache not found, HW007 key too long, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.delete(text, bytea) FROM PUBLIC;
