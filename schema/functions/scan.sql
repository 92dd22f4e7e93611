-- The order is that of the hash, which never changes while a key exists. A
-- cursor is the number of a slot of 1024 hashes, so that it stays below 2^53
-- and JavaScript reads it exactly; a page therefore ends with a whole slot.
CREATE OR REPLACE FUNCTION howdah.scan(
    cache text, cursor bigint DEFAULT 0, count integer DEFAULT 100, prefix bytea DEFAULT NULL
) RETURNS TABLE (next_cursor bigint, keys bytea[])
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._settings(cache);
    slots    CONSTANT bigint := 9007199254740992;  -- 2^53
    first    bigint;
    last     bigint;
    seen     bigint;
BEGIN
    IF cursor IS NULL OR cursor NOT BETWEEN 0 AND slots - 1 THEN
        RAISE EXCEPTION 'The cursor % is not one of howdah.scan.', coalesce(cursor::text, 'NULL')
            USING ERRCODE = 'HW012', HINT = 'Begin with 0 and go on with the next_cursor of the answer.';
    ELSIF count IS NULL OR count < 1 THEN
        RAISE EXCEPTION 'The count % is not positive.', coalesce(count::text, 'NULL')
            USING ERRCODE = 'HW012', HINT = 'Give the number of entries to look at, such as 100.';
    END IF;
    first := cursor << 10;

    EXECUTE format($sql$
        SELECT max(page.hash), count(*)
        FROM (SELECT c.hash FROM howdah_internal.%I AS c WHERE c.hash >= $1 ORDER BY c.hash LIMIT $2) AS page
        $sql$, 'cache_' || settings.id)
    INTO last, seen
    USING first, count;

    next_cursor := CASE WHEN seen < count OR last >> 10 = slots - 1 THEN 0 ELSE (last >> 10) + 1 END;
    EXECUTE format($sql$
        SELECT coalesce(array_agg(c.key ORDER BY c.hash), '{}')
        FROM howdah_internal.%I AS c
        WHERE c.hash BETWEEN $1 AND $2
          AND c.expires_at > statement_timestamp()
          AND ($3 IS NULL OR substring(c.key FROM 1 FOR octet_length($3)) = $3)
        $sql$, 'cache_' || settings.id)
    INTO keys
    USING first, last | 1023, prefix;
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION howdah.scan(text, bigint, integer, bytea) IS
'Walks over the keys of a cache, page by page. Returns one row: the keys of the
page and the cursor of the next, which is 0 after the last. A key that exists
from the first page to the last is returned exactly once; one that comes or goes
meanwhile may or may not be. A page may be empty and not the last.

cache: the name of a cache.
cursor: 0 to begin, then next_cursor; less than 2^53. Nothing is kept between
calls, and any number of scans may run.
count: how many entries a page looks at, expired and not matching ones included.
prefix: only keys that begin with these bytes; NULL: all.

Errors: HW001 cache not found, HW012 invalid cursor or count.';

REVOKE ALL ON FUNCTION howdah.scan(text, bigint, integer, bytea) FROM PUBLIC;
