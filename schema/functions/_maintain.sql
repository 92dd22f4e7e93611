CREATE OR REPLACE FUNCTION howdah_internal._maintain(
    settings    howdah_internal.cache,
    max_rows    bigint,
    max_blocks  bigint,
    deadline    timestamptz,
    max_expired bigint,
    held_back   boolean,
    OUT expired bigint,
    OUT evicted bigint,
    OUT bytes   bigint,
    OUT blocks  bigint,
    OUT entries bigint,
    OUT size    bigint,
    OUT more    boolean
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tbl     CONSTANT text   := howdah_internal._table(settings);
    total   CONSTANT bigint := pg_relation_size(tbl::regclass) / current_setting('block_size')::bigint;
    salt    CONSTANT bigint := (random() * 1000000000)::bigint;
    -- Locked rows are left for the next time, and the statement that locks
    -- deletes: no row is held for longer than the round. What was overwritten
    -- meanwhile is looked at again before it is locked.
    remove  CONSTANT text   := $sql$
        WITH gone AS (
            DELETE FROM %1$s AS d
            WHERE d.ctid = ANY (ARRAY(
                SELECT c.ctid FROM %1$s AS c
                WHERE c.ctid >= $1 AND c.ctid < $2 AND %2$s
                %3$s LIMIT $3
                FOR UPDATE SKIP LOCKED))
            RETURNING d.hash, d.key, d.expires_at, octet_length(d.key) + octet_length(d.value) + 100 AS bytes
        )
        SELECT count(*), coalesce(sum(g.bytes), 0), array_agg(g.hash) FILTER (WHERE $4 AND g.expires_at > '-infinity'),
               array_agg(g.key) FILTER (WHERE $5 AND g.expires_at > '-infinity')
        FROM gone AS g$sql$;
    -- An expired row stays while it may be served stale, somebody holds the lease
    -- to load it, or its version is watched (see schema/statements/watch.sql): until
    -- the minute in "accessed", unless it was stored since then. What is rare comes last.
    expiry  CONSTANT text   :=
        'c.expires_at <= statement_timestamp()'
        ' AND c.expires_at <= statement_timestamp() - c.stale_seconds * interval ''1 second'''
        ' AND c.leased_until <= statement_timestamp()'
        ' AND (c.accessed <= ceil(extract(epoch FROM statement_timestamp()) / 60)'
        '      OR c.expires_at > ''-infinity'' AND c.stale_seconds = 0 AND c.leased_until = ''-infinity'')';
    -- Who keeps an evicted entry in memory has to learn of it: a delete that finds
    -- no row notes nothing. 1,000 hashes go into one row of the log.
    noted   CONSTANT boolean := 'near' = ANY (settings.features);
    -- Whoever is told of keys by their prefixes learns of expired ones too.
    named   CONSTANT boolean := 'log_keys' = ANY (settings.features);
    batch   CONSTANT bigint := CASE WHEN named THEN 1000 ELSE 2000 END;  -- rows that one statement removes
    removed bigint[];     -- hashes of entries that were removed, if they are to be noted; the row of an absent key is no entry
    keys    bytea[];      -- of entries that were removed, if that is noted or an event
    expires CONSTANT boolean := settings.events AND howdah_internal._wants_events('x');
    evicts  CONSTANT boolean := settings.events AND howdah_internal._wants_events('e');
    limited CONSTANT boolean := settings.max_entries IS NOT NULL OR settings.max_bytes IS NOT NULL;
    -- An estimate takes 4 ms and more: a shorter round only removes what has expired.
    estimate CONSTANT boolean := limited AND deadline - statement_timestamp() >= interval '5 milliseconds';
    state   howdah.upkeep;
    sample  record;       -- what howdah_internal._sample found
    excess  bigint := 0;  -- entries to be evicted
    worst   bigint;       -- the score up to which they may be
    place   bigint;
    reach   bigint := 64;  -- blocks from a place on
    step    bigint;
    began   CONSTANT timestamptz := clock_timestamp();
    started timestamptz;
    counted bigint;
    freed   bigint;
    cut     boolean := false;  -- a bound was met where there was work
BEGIN
    expired := 0; evicted := 0; bytes := 0; blocks := 0; more := false;
    SELECT u.* INTO state FROM howdah.upkeep AS u WHERE u.cache = settings.name;
    state.hand := CASE WHEN state.hand < total THEN state.hand ELSE 0 END;
    state.hand := coalesce(state.hand, 0);
    state.chunk := coalesce(state.chunk, 64);

    SELECT NULL::bigint[] AS scores, NULL::bigint[] AS places INTO sample;
    IF estimate THEN
        IF total = 0 THEN
            entries := 0; size := 0;
        ELSE
            SELECT * INTO sample FROM howdah_internal._sample(settings, total, coalesce(state.entries, total), salt);
            entries := round(sample.rows * total::numeric / sample.blocks);
            size    := round(sample.bytes * total::numeric / sample.blocks);
            -- An estimate: where the last one is near, it says something too.
            IF sample.blocks < total AND abs(entries - state.entries) < entries / 10 THEN
                entries := (entries + state.entries) / 2;
                size    := (size + state.bytes) / 2;
            END IF;
        END IF;
        -- From 97 % of the budget down to 95 %, and half of what came since the
        -- last round below that: so much will come before the next.
        IF entries > settings.max_entries * 0.97 THEN
            excess := ceil(entries - settings.max_entries * 0.95);
        END IF;
        IF size > settings.max_bytes * 0.97 THEN
            excess := greatest(excess, ceil((size - settings.max_bytes * 0.95) * entries / size));
        END IF;
        IF excess > 0 AND sample.scores IS NOT NULL THEN
            excess := excess + greatest(0, least((entries - coalesce(state.entries, entries)) / 2, entries / 20));
            -- The tenth that is worst by the policy goes, or more if need be.
            SELECT percentile_disc(greatest(0.1, least(1.0,
                       excess::float8 / (cardinality(sample.scores) * total::float8 / sample.blocks))))
                   WITHIN GROUP (ORDER BY s.score)
            INTO worst FROM unnest(sample.scores) AS s (score);
        END IF;
        PERFORM howdah_internal._mark_full(settings, entries, size, worst IS NULL AND excess > 0);
    END IF;

    -- Entries of one age lie together: begin where the sample met most of the
    -- worst, and take the blocks after it along. A quarter of the time is left
    -- for what has expired.
    FOR place IN
        SELECT s.place
        FROM unnest(sample.scores, sample.places) AS s (score, place)
        WHERE s.score <= worst
        GROUP BY s.place
        ORDER BY count(*) DESC, random()
    LOOP
        EXIT WHEN evicted >= least(max_rows, excess)
               OR evicted > 0 AND clock_timestamp() > deadline - 0.25 * (deadline - began);
        started := clock_timestamp();
        EXECUTE format(remove, tbl,
            format('c.expires_at > statement_timestamp() AND %s %s <= %s',
                   CASE WHEN settings.eviction LIKE 'volatile-%' THEN 'c.expires_at < ''infinity'' AND' ELSE '' END,
                   howdah_internal._score(settings.eviction, salt), worst),
            'ORDER BY ' || howdah_internal._score(settings.eviction, salt))
        INTO counted, freed, removed, keys
        USING format('(%s,0)', place)::tid, format('(%s,0)', least(place + reach, total))::tid,
              least(CASE WHEN noted THEN 1000 ELSE batch END, max_rows - evicted, excess - evicted), noted, evicts OR named;
        PERFORM howdah_internal._log(settings, coalesce(removed, '{}'), keys);
        PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'e', 'evicted', keys) WHERE evicts AND keys IS NOT NULL;
        evicted := evicted + counted;
        bytes := bytes + freed;
        reach := CASE WHEN clock_timestamp() - started < interval '2 milliseconds'
                      THEN least(reach * 2, 1024) ELSE greatest(reach / 2, 16) END;
    END LOOP;

    WHILE blocks < least(total, max_blocks) LOOP
        IF expired + evicted >= max_rows OR expired >= max_expired
           OR blocks + expired > 0 AND clock_timestamp() >= deadline THEN
            cut := true;
            EXIT;
        END IF;
        started := clock_timestamp();
        step := least(state.chunk, total - state.hand, least(total, max_blocks) - blocks);
        EXECUTE format(remove, tbl, expiry, '')
        INTO counted, freed, removed, keys  -- a copy in memory ends with its own TTL
        USING format('(%s,0)', state.hand)::tid, format('(%s,0)', state.hand + step)::tid,
              least(batch, max_rows - expired - evicted, max_expired - expired), named, expires OR named;
        PERFORM howdah_internal._log(settings, removed, keys) WHERE removed IS NOT NULL;
        PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'x', 'expired', keys) WHERE expires AND keys IS NOT NULL;
        expired := expired + counted;
        bytes := bytes + freed;
        IF expired + evicted >= max_rows OR expired >= max_expired THEN
            cut := true;  -- there may be more in this chunk: the hand stays
            EXIT;
        END IF;
        IF counted >= batch THEN  -- the same blocks again, in smaller chunks
            state.chunk := greatest(state.chunk / 4, 4);
            CONTINUE;
        END IF;
        blocks := blocks + step;
        state.hand := CASE WHEN state.hand + step >= total THEN 0 ELSE state.hand + step END;
        -- About 1 ms a chunk, whatever the machine and the rows are like. Where
        -- little has expired it grows no further than what a chunk full of
        -- expired rows takes 5 ms for.
        IF clock_timestamp() - started < interval '500 microseconds' THEN
            state.chunk := least(state.chunk * 2, 128);
        ELSIF clock_timestamp() - started > interval '1500 microseconds' THEN
            state.chunk := greatest(state.chunk / 2, 4);
        END IF;
    END LOOP;

    IF entries > 0 THEN
        size := greatest(0, size - evicted * size / entries);
        entries := greatest(0, entries - evicted);
    END IF;
    more := cut AND expired > 0 OR worst IS NOT NULL AND excess > evicted;
    INSERT INTO howdah.upkeep AS u (cache, hand, chunk, entries, bytes, expired, evicted, last_round,
                                    held_back_since)
    VALUES (settings.name, state.hand, state.chunk, entries, size, expired, evicted, clock_timestamp(),
            CASE WHEN held_back THEN clock_timestamp() END)
    ON CONFLICT ON CONSTRAINT upkeep_pkey DO UPDATE
    SET hand = excluded.hand, chunk = excluded.chunk,
        entries = CASE WHEN limited THEN coalesce(excluded.entries, u.entries) END,
        bytes = CASE WHEN limited THEN coalesce(excluded.bytes, u.bytes) END,
        expired = u.expired + excluded.expired, evicted = u.evicted + excluded.evicted,
        -- Caches wait in the order of their last estimate.
        last_round = CASE WHEN limited AND NOT estimate THEN u.last_round ELSE excluded.last_round END,
        held_back_since = CASE WHEN held_back THEN coalesce(u.held_back_since, excluded.last_round) END;
END
$$;

COMMENT ON FUNCTION howdah_internal._maintain(howdah_internal.cache, bigint, bigint, timestamptz, bigint, boolean) IS
'Internal. The round of howdah.maintain on one cache.';

REVOKE ALL ON FUNCTION howdah_internal._maintain(howdah_internal.cache, bigint, bigint, timestamptz, bigint, boolean) FROM PUBLIC;
