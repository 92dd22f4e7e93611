CREATE OR REPLACE FUNCTION howdah.lrange(cache text, key bytea, start bigint DEFAULT 0, stop bigint DEFAULT -1)
RETURNS TABLE (place bigint, element bytea)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Read by itself, not in the statement, whose text PostgreSQL would add to an error.
    packed bytea;
BEGIN
    IF start IS NULL OR stop IS NULL THEN
        RAISE EXCEPTION 'A place is NULL.'
            USING ERRCODE = 'HW012', HINT = 'Give whole numbers, such as 0 and -1 for all elements.';
    END IF;
    packed := howdah_internal._collection(cache, key, 2::smallint);
    RETURN QUERY
    WITH unpacked AS MATERIALIZED (
        SELECT * FROM howdah_internal._unpack(2::smallint, packed)
    ), size AS (
        SELECT count(*) AS n FROM unpacked
    )
    SELECT e.place, e.element
    FROM unpacked AS e CROSS JOIN size
    WHERE e.place BETWEEN CASE WHEN start < 0 THEN size.n + start ELSE start END
                      AND CASE WHEN stop < 0 THEN size.n + stop ELSE stop END
    ORDER BY e.place;
END
$$;

COMMENT ON FUNCTION howdah.lrange(text, bytea, bigint, bigint) IS
'Reads a list, or a part of it: a row for each element with its place, in their order. No
row: the key is absent or expired, or has no such elements.

cache: the name of a cache.
key: at most 65536 bytes.
start, stop: the places of the first and of the last element, from 0; negative ones count
from the end: -1 is the last.

Errors: HW001 cache not found, HW007 key too long, HW012 NULL, HW018 the key holds another
kind.';

REVOKE ALL ON FUNCTION howdah.lrange(text, bytea, bigint, bigint) FROM PUBLIC;
