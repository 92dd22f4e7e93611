CREATE OR REPLACE FUNCTION howdah.maintain(
    cache      text     DEFAULT NULL,
    max_rows   integer  DEFAULT 20000,
    max_blocks integer  DEFAULT 8192,
    max_time   interval DEFAULT '50 milliseconds',
    max_lag    bigint   DEFAULT 67108864
) RETURNS TABLE (
    name         text,
    expired      bigint,
    evicted      bigint,
    bytes        bigint,
    blocks       bigint,
    milliseconds double precision,
    entries      bigint,
    size         bigint,
    more         boolean,
    held_back    boolean
)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Rows a second that expire while a standby is behind.
    trickle     CONSTANT bigint := 1000;
    sessions    CONSTANT text   := 'howdah.session';
    started     timestamptz := clock_timestamp();
    deadline    timestamptz;
    next        record;
    settings    howdah_internal.cache;
    behind      boolean;  -- NULL: nobody needed to know yet
    rows_left   bigint := max_rows;
    blocks_left bigint := max_blocks;
    max_expired bigint;
BEGIN
    IF max_rows IS NULL OR max_blocks IS NULL OR max_time IS NULL
       OR max_rows < 1 OR max_blocks < 1 OR max_time <= interval '0' OR max_lag < 1 THEN
        RAISE EXCEPTION 'A bound of howdah.maintain is not positive.'
            USING ERRCODE = 'HW012',
                  HINT = 'Give max_rows, max_blocks, max_time and max_lag above zero, or leave them out.';
    END IF;
    deadline := started + max_time;
    IF cache IS NOT NULL AND cache <> sessions THEN
        PERFORM FROM howdah_internal._partitions(cache);
        IF NOT FOUND THEN
            PERFORM howdah_internal._no_cache(cache);
        END IF;
    END IF;
    PERFORM howdah_internal._detect_reset();
    -- "howd" and "upkp" in ASCII. One round at a time in a database.
    IF NOT pg_try_advisory_xact_lock(1752135524, 1970301808) THEN
        RETURN;
    END IF;

    PERFORM howdah_internal._trim_log(started + max_time / 2);

    -- Whoever waited longest comes first: a big cache starves no other.
    FOR next IN
        SELECT t.c AS settings, u.last_round
        FROM (SELECT c FROM howdah_internal.cache AS c
              UNION ALL
              SELECT jsonb_populate_record(NULL::howdah_internal.cache, jsonb_build_object('name', sessions, 'durability', 'sync'))
              WHERE pg_relation_size(sessions) > 0) AS t (c)
        LEFT JOIN howdah.upkeep AS u ON u.cache = (t.c).name
        WHERE howdah_internal._is_here(t.c) AND (maintain.cache IS NULL OR maintain.cache IN ((t.c).name, (t.c).whole))
        ORDER BY u.last_round NULLS FIRST, (t.c).name
    LOOP
        settings := next.settings;
        EXIT WHEN rows_left <= 0 OR blocks_left <= 0 OR name IS NOT NULL AND clock_timestamp() >= deadline;
        BEGIN
            -- A table that is being truncated, altered, moved or dropped: another time.
            PERFORM howdah_internal._stay(settings) WHERE settings.shard IS NOT NULL;
            EXECUTE format('LOCK TABLE %s IN ROW EXCLUSIVE MODE NOWAIT',
                           CASE settings.name WHEN sessions THEN sessions ELSE howdah_internal._table(settings) END);
        EXCEPTION
            WHEN lock_not_available OR undefined_table OR SQLSTATE 'HW098' OR SQLSTATE 'HW099' THEN
                CONTINUE;
        END;
        started := clock_timestamp();
        -- Expired rows can wait, and what removes them is WAL. Eviction goes on:
        -- it makes less than the writes that call for it. Nor does expiry stop,
        -- or a slot that nobody reads would let the tables grow for ever.
        IF settings.durability <> 'unlogged' AND max_lag IS NOT NULL AND behind IS NULL THEN
            behind := coalesce(howdah_internal._replication_lag() > max_lag, false);
        END IF;
        held_back := settings.durability <> 'unlogged' AND coalesce(behind, false);
        max_expired := rows_left;
        IF held_back THEN
            max_expired := least(rows_left, trickle * extract(epoch FROM started - coalesce(next.last_round, started - interval '1 s')));
        END IF;
        name := settings.name;
        IF name = sessions THEN
            SELECT m.expired, 0, 0, m.blocks, NULL, NULL, m.more
            INTO expired, evicted, bytes, blocks, entries, size, more
            FROM howdah_internal._maintain_sessions(max_expired, blocks_left, deadline, held_back) AS m;
        ELSE
            SELECT m.expired, m.evicted, m.bytes, m.blocks, m.entries, m.size, m.more
            INTO expired, evicted, bytes, blocks, entries, size, more
            FROM howdah_internal._maintain(settings, rows_left, blocks_left, deadline, max_expired, held_back) AS m;
            -- About 3,000 rows, and as many looks at the index of the cache.
            PERFORM howdah_internal._sweep_tags(settings, least(16, max_blocks));
        END IF;
        milliseconds := extract(epoch FROM clock_timestamp() - started) * 1000;
        rows_left := rows_left - expired - evicted;
        blocks_left := blocks_left - blocks;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION howdah.maintain(text, integer, integer, interval, bigint) IS
'Does one bounded round of upkeep: removes expired rows, of caches and of sessions,
and evicts where a cache is beyond 97 % of its budget, down to 95 %; once a second it
trims the change log. Each round
goes on where the last one stopped. It waits for no lock: it leaves locked rows to
the next round, and does nothing while another session is in a round. In a longer
transaction, what it removes stays locked until the end: call it in one of its own.

cache: the name of a cache, or of a partition of one, such as db0/05; howdah.session for the
sessions; NULL: all, those that waited longest first.
max_rows: it removes at most so many rows.
max_blocks: it looks at most at so many blocks of 8 KiB, besides 256 for an
estimate where there is a budget.
max_time: it begins nothing new after so long; the statements it is made of
take about a millisecond each. Below 5 ms there is no estimate, and so no eviction.
max_lag: while a standby or a replication slot is more bytes of WAL behind, at most
1000 expired rows a second are removed from the sessions and from caches that are
not unlogged; NULL: it does not look. Standbys show themselves only to members of
pg_read_all_stats, slots to everybody.

Returns one row for each cache, or each partition of one, that it came to, and for the sessions if there are
any (howdah.session): how many rows had expired and were evicted, their bytes (key,
value and 100 for row and index; 0 for sessions), the blocks it looked at, how long
that took; entries and size are estimates of what the cache holds, NULL without
one; more is true if there is work left; held_back is true if max_lag slowed it
down. No row at all: another session is in a round.
Errors: HW001 cache not found, HW012 a bound not positive.';

REVOKE ALL ON FUNCTION howdah.maintain(text, integer, integer, interval, bigint) FROM PUBLIC;
