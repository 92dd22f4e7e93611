CREATE OR REPLACE FUNCTION howdah.hgetall(cache text, key bytea)
RETURNS TABLE (field bytea, value bytea)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Read by itself, not in the statement, whose text PostgreSQL would add to an error.
    packed bytea;
BEGIN
    packed := howdah_internal._collection(cache, key, 1::smallint);
    RETURN QUERY
    SELECT e.element, e.value
    FROM howdah_internal._unpack(1::smallint, packed) AS e
    ORDER BY e.place;
END
$$;

COMMENT ON FUNCTION howdah.hgetall(text, bytea) IS
'Reads a hash: a row for each field that has not expired, in the order in which they were
made. No row: the key is absent or expired.

cache: the name of a cache.
key: at most 65536 bytes.

Errors: HW001 cache not found, HW007 key too long, HW012 NULL, HW018 the key holds another
kind.';

REVOKE ALL ON FUNCTION howdah.hgetall(text, bytea) FROM PUBLIC;
