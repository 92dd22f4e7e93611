CREATE OR REPLACE FUNCTION howdah.replace(cache text, key bytea, value bytea, ttl interval DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN howdah_internal._put_present(howdah_internal._stay(howdah_internal._settings(cache, key)), key, NULL, value, ttl) IS NOT NULL;
END
$$;

COMMENT ON FUNCTION howdah.replace(text, bytea, bytea, interval) IS
'Stores a value only if the key exists; the entry takes the new TTL.

cache, key, value, ttl: as in howdah.set.

Returns true if it stored the value.
Errors: as howdah.set, without HW010.';

REVOKE ALL ON FUNCTION howdah.replace(text, bytea, bytea, interval) FROM PUBLIC;
