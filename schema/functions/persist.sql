CREATE OR REPLACE FUNCTION howdah.persist(cache text, key bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN howdah.expire(cache, key, howdah.no_expiry());
END
$$;

COMMENT ON FUNCTION howdah.persist(text, bytea) IS
'Takes the TTL of an entry away: it does not expire any more, unless the cache has
a maximum TTL, which then begins anew. The entry gets a new version.

cache: the name of a cache.
key: at most 65536 bytes.

Returns true if the key exists.
Errors: HW001 cache not found, HW007 key too long, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.persist(text, bytea) FROM PUBLIC;
