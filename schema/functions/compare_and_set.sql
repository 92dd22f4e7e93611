CREATE OR REPLACE FUNCTION howdah.compare_and_set(
    cache text, key bytea, version bigint, value bytea, ttl interval DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
BEGIN
    IF version IS NULL THEN
        RAISE EXCEPTION 'The version is NULL.'
            USING ERRCODE = 'HW012', HINT = 'Give the version that howdah.get_entry returned, or 0 for an absent key.';
    ELSIF version = 0 THEN
        RETURN howdah_internal._put_absent(settings, key, value, ttl);
    END IF;
    RETURN howdah_internal._put_present(settings, key, version, value, ttl);
END
$$;

COMMENT ON FUNCTION howdah.compare_and_set(text, bytea, bigint, bytea, interval) IS
'Stores a value only if the entry still has the version that was read.

cache, key, value, ttl: as in howdah.set.
version: from howdah.get_entry or an earlier write; 0: only if the key is absent.

Returns the new version, or NULL if the version was another and nothing changed.
Errors: as howdah.set.';

REVOKE ALL ON FUNCTION howdah.compare_and_set(text, bytea, bigint, bytea, interval) FROM PUBLIC;
