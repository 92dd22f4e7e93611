CREATE OR REPLACE FUNCTION howdah.maintain(
    cache      text     DEFAULT NULL,
    max_rows   integer  DEFAULT 20000,
    max_blocks integer  DEFAULT 8192,
    max_time   interval DEFAULT '50 milliseconds'
) RETURNS TABLE (
    name         text,
    expired      bigint,
    evicted      bigint,
    bytes        bigint,
    blocks       bigint,
    milliseconds double precision,
    entries      bigint,
    size         bigint,
    more         boolean
)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    started     timestamptz := clock_timestamp();
    deadline    timestamptz;
    settings    howdah.cache;
    rows_left   bigint := max_rows;
    blocks_left bigint := max_blocks;
BEGIN
    IF max_rows IS NULL OR max_blocks IS NULL OR max_time IS NULL
       OR max_rows < 1 OR max_blocks < 1 OR max_time <= interval '0' THEN
        RAISE EXCEPTION 'A bound of howdah.maintain is not positive.'
            USING ERRCODE = 'HW012', HINT = 'Give max_rows, max_blocks and max_time above zero, or leave them out.';
    END IF;
    deadline := started + max_time;
    IF cache IS NOT NULL THEN
        PERFORM howdah._settings(cache);
    END IF;
    PERFORM howdah._detect_reset();
    -- "howd" and "upkp" in ASCII. One round at a time in a database.
    IF NOT pg_try_advisory_xact_lock(1752135524, 1970301808) THEN
        RETURN;
    END IF;

    -- Whoever waited longest comes first: a big cache starves no other.
    FOR settings IN
        SELECT c.*
        FROM howdah.cache AS c
        LEFT JOIN howdah.upkeep AS u ON u.cache = c.name
        WHERE maintain.cache IS NULL OR c.name = maintain.cache
        ORDER BY u.last_round NULLS FIRST, c.name
    LOOP
        EXIT WHEN rows_left <= 0 OR blocks_left <= 0 OR name IS NOT NULL AND clock_timestamp() >= deadline;
        BEGIN
            -- A cache that is being truncated, altered or dropped: another time.
            EXECUTE format('LOCK TABLE howdah.%I IN ROW EXCLUSIVE MODE NOWAIT', 'cache_' || settings.name);
        EXCEPTION
            WHEN lock_not_available OR undefined_table THEN
                CONTINUE;
        END;
        started := clock_timestamp();
        SELECT settings.name, m.expired, m.evicted, m.bytes, m.blocks, NULL, m.entries, m.size, m.more
        INTO name, expired, evicted, bytes, blocks, milliseconds, entries, size, more
        FROM howdah._maintain(settings, rows_left, blocks_left, deadline) AS m;
        milliseconds := extract(epoch FROM clock_timestamp() - started) * 1000;
        rows_left := rows_left - expired - evicted;
        blocks_left := blocks_left - blocks;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION howdah.maintain(text, integer, integer, interval) IS
'Does one bounded round of upkeep: removes expired rows, and evicts where a cache
is beyond 97 % of its budget, down to 95 %. Each round goes on where the last one
stopped. It waits for nobody, leaves locked rows for the next round, and does
nothing while another session is in a round. Call it by itself: in a longer
transaction, what it removes stays locked until the end.

cache: the name of a cache; NULL: all, those that waited longest first.
max_rows: it removes at most so many rows.
max_blocks: it looks at most at so many blocks of 8 KiB, besides 256 for an
estimate where there is a budget.
max_time: it begins nothing new after so long; the statements it is made of
take about 2 ms each.

Returns one row for each cache that it came to: how many rows had expired and
were evicted, their bytes (key, value and 88 for row and index), the blocks it
looked at, how long that took; entries and size are estimates of what the cache
holds, NULL without a budget; more is true if there is work left. No row at all:
another session is in a round.
Errors: HW001 cache not found, HW012 a bound not positive.';

REVOKE ALL ON FUNCTION howdah.maintain(text, integer, integer, interval) FROM PUBLIC;
