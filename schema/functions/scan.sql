-- The order is that of the hash, which never changes while a key exists. A
-- cursor is the number of a slot of 1024 hashes, so that it stays below 2^53
-- and JavaScript reads it exactly; a page therefore ends with a whole slot. In a
-- database with partitions these follow one another: the partition takes the top
-- six bits of the 53, and a slot has 65,536 hashes.
CREATE OR REPLACE FUNCTION howdah.scan(
    cache text, cursor bigint DEFAULT 0, count integer DEFAULT 100, prefix bytea DEFAULT NULL
) RETURNS TABLE (next_cursor bigint, keys bytea[])
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    parts    howdah_internal.cache[];
    slots    CONSTANT bigint := 9007199254740992;  -- 2^53
    width    integer := 10;  -- bits of the hash that are not in the slot
    place    integer := 1;   -- in parts
    first    bigint;
    last     bigint;
    seen     bigint;
    rest     bigint := count;
    page     bytea[];
BEGIN
    parts := ARRAY(SELECT p FROM howdah_internal._partitions(cache) AS p);
    IF parts = '{}' THEN
        PERFORM howdah_internal._no_cache(cache);
    ELSIF parts[1].whole = cache THEN
        width := 16;
        place := (cursor >> 47) + 1;
    END IF;
    IF cursor IS NULL OR cursor NOT BETWEEN 0 AND slots - 1 OR place > cardinality(parts) THEN
        RAISE EXCEPTION 'The cursor % is not one of howdah.scan.', coalesce(cursor::text, 'NULL')
            USING ERRCODE = 'HW012', HINT = 'Begin with 0 and go on with the next_cursor of the answer.';
    ELSIF count IS NULL OR count < 1 THEN
        RAISE EXCEPTION 'The count % is not positive.', coalesce(count::text, 'NULL')
            USING ERRCODE = 'HW012', HINT = 'Give the number of entries to look at, such as 100.';
    END IF;
    -- Of the 53 bits of the slot, those above the hash are the partition: they go.
    first := (cursor << width) & 9223372036854775807;
    keys := '{}';
    LOOP
        PERFORM howdah_internal._elsewhere(parts[place]);
        EXECUTE format($sql$
            SELECT max(page.hash), count(*)
            FROM (SELECT c.hash FROM %s AS c WHERE c.hash >= $1 ORDER BY c.hash LIMIT $2) AS page
            $sql$, howdah_internal._table(parts[place]))
        INTO last, seen
        USING first, rest;

        EXECUTE format($sql$
            SELECT coalesce(array_agg(c.key ORDER BY c.hash), '{}')
            FROM %s AS c
            WHERE c.hash BETWEEN $1 AND $2
              AND c.expires_at > statement_timestamp()
              AND ($3 IS NULL OR substring(c.key FROM 1 FOR octet_length($3)) = $3)
            $sql$, howdah_internal._table(parts[place]))
        INTO page
        USING first, last | ((1::bigint << width) - 1), prefix;
        keys := keys || page;

        IF seen = rest AND last >> width < 9223372036854775807 >> width THEN
            next_cursor := (place - 1)::bigint << 47 | (last >> width) + 1;
        ELSIF place = cardinality(parts) THEN
            next_cursor := 0;
        ELSE
            next_cursor := place::bigint << 47;
        END IF;
        rest := rest - seen;
        EXIT WHEN rest = 0 OR next_cursor = 0;
        place := place + 1;
        first := 0;
    END LOOP;
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
