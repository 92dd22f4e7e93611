CREATE OR REPLACE FUNCTION howdah.add(cache text, key bytea, value bytea, ttl interval DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN howdah_internal._put_absent(howdah_internal._stay(howdah_internal._settings(cache, key)), key, value, ttl) IS NOT NULL;
END
$$;

COMMENT ON FUNCTION howdah.add(text, bytea, bytea, interval) IS
'Stores a value only if the key is absent or expired. Of many that add one key at
once, one succeeds.

cache, key, value, ttl: as in howdah.set.

Returns true if it stored the value.
Errors: as howdah.set.';

REVOKE ALL ON FUNCTION howdah.add(text, bytea, bytea, interval) FROM PUBLIC;
