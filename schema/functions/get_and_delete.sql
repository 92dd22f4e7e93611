CREATE OR REPLACE FUNCTION howdah.get_and_delete(cache text, key bytea) RETURNS bytea
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    hash     CONSTANT bigint := howdah.key_hash(howdah_internal._check_key(key));
    result   bytea;
    kind     smallint;
    deleted  bigint;
BEGIN
    -- As howdah.delete.
    FOR attempt IN 1..2 LOOP
        EXECUTE format($sql$
            DELETE FROM %s AS c
            WHERE c.hash = $1 AND c.key = $2
            RETURNING CASE WHEN c.expires_at > statement_timestamp() AND c.kind = 0 THEN c.value END,
                      CASE WHEN c.expires_at > statement_timestamp() THEN c.kind END
            $sql$, howdah_internal._table(settings))
        INTO result, kind
        USING hash, key;
        GET DIAGNOSTICS deleted = ROW_COUNT;
        EXIT WHEN deleted > 0 OR attempt = 2;
        PERFORM howdah_internal._hold(settings, ARRAY[hash], ARRAY[key]);
    END LOOP;
    -- Raised here, not in the statement, whose text PostgreSQL would add to the error.
    IF kind <> 0 THEN
        PERFORM howdah_internal._refuse_kind(kind);
    END IF;
    IF result IS NOT NULL THEN
        PERFORM howdah_internal._log(settings, ARRAY[hash], ARRAY[key]);
        IF settings.events THEN
            PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'g', 'del', ARRAY[key]);
        END IF;
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.get_and_delete(text, bytea) IS
'Removes a key and returns the value it had. Of many that ask at once, one gets
the value. NULL: the key was absent or expired. Until the transaction ends, no other one
can store or claim the key.

cache: the name of a cache.
key: at most 65536 bytes.

Errors: HW001 cache not found, HW007 key too long, HW012 NULL, HW018 the key holds a
collection.
After an error the entry is what it was.';

REVOKE ALL ON FUNCTION howdah.get_and_delete(text, bytea) FROM PUBLIC;
