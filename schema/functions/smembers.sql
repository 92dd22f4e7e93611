CREATE OR REPLACE FUNCTION howdah.smembers(cache text, key bytea)
RETURNS TABLE (member bytea)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Read by itself, not in the statement, whose text PostgreSQL would add to an error.
    packed bytea;
BEGIN
    packed := howdah_internal._collection(cache, key, 3::smallint);
    RETURN QUERY
    SELECT e.element
    FROM howdah_internal._unpack(3::smallint, packed) AS e
    ORDER BY e.place;
END
$$;

COMMENT ON FUNCTION howdah.smembers(text, bytea) IS
'Reads a set: a row for each member, in no order. No row: the key is absent or expired.

cache: the name of a cache.
key: at most 65536 bytes.

Errors: HW001 cache not found, HW007 key too long, HW012 NULL, HW018 the key holds another
kind.';

REVOKE ALL ON FUNCTION howdah.smembers(text, bytea) FROM PUBLIC;
