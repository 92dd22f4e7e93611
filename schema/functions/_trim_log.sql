CREATE OR REPLACE FUNCTION howdah_internal._trim_log(deadline timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- A program that asks once in so many ticks (seconds) misses nothing. When
    -- the log is longer than this, with the keys that lie in its TOAST table, a program
    -- that paused starts anew sooner.
    keep     CONSTANT bigint  := CASE WHEN pg_table_size('howdah_internal.change'::regclass) <= 67108864 THEN 30 ELSE 12 END;
    batch    CONSTANT integer := 2000;
    state    howdah_internal.change_state;
    horizon  pg_snapshot;
    reached  xid8;
    removed  bigint := batch;
BEGIN
    -- REPEATABLE READ would fail where another transaction has just trimmed.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN;
    END IF;
    SELECT s.* INTO state FROM howdah_internal.change_state AS s
    WHERE s.ticked_at NOT BETWEEN clock_timestamp() - interval '1 second' AND clock_timestamp()
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        PERFORM howdah_internal._detect_reset();
        RETURN;
    END IF;

    -- After a restart everybody starts anew. In a dump that was restored elsewhere
    -- these snapshots even speak of another server's transactions.
    IF state.start <> pg_postmaster_start_time() THEN
        DELETE FROM howdah_internal.change_tick;
        state.trimmed := '0';
        state.bus_trimmed := '1:1:';
        DELETE FROM howdah_internal.bus AS b WHERE b.xid >= pg_snapshot_xmax(pg_current_snapshot());
    END IF;

    -- What this tick shows is known to every program that has seen the tick. So
    -- what the snapshot of the floor shows can go: a program that has not seen
    -- that tick finds the floor above its own and starts anew.
    state.tick := state.tick + 1;
    INSERT INTO howdah_internal.change_tick (tick, snapshot) VALUES (state.tick, pg_current_snapshot());
    SELECT t.tick, t.snapshot INTO state.floor, horizon FROM howdah_internal.change_tick AS t
    WHERE t.tick <= state.tick - keep
    ORDER BY t.tick DESC LIMIT 1;
    IF horizon IS NOT NULL THEN
        reached := state.trimmed;
        WHILE removed = batch AND clock_timestamp() < deadline LOOP
            WITH gone AS (
                DELETE FROM howdah_internal.change AS c
                WHERE c.ctid = ANY (ARRAY(
                    SELECT o.ctid FROM howdah_internal.change AS o
                    WHERE o.xid >= reached AND o.xid < pg_snapshot_xmax(horizon) AND pg_visible_in_snapshot(o.xid, horizon)
                    ORDER BY o.xid LIMIT batch))
                RETURNING c.xid
            )
            SELECT count(*), (array_agg(g.xid ORDER BY g.xid DESC))[1] INTO removed, reached FROM gone AS g;
        END LOOP;
        state.trimmed := CASE WHEN removed < batch THEN pg_snapshot_xmin(horizon)
                              ELSE least(reached, pg_snapshot_xmin(horizon)) END;
        DELETE FROM howdah_internal.change_tick AS t WHERE t.tick < state.floor;
    END IF;
    state.bus_trimmed := howdah_internal._trim_bus(state.tick, state.bus_trimmed, deadline);
    UPDATE howdah_internal.change_state AS s
    SET tick = state.tick, floor = coalesce(state.floor, s.floor), trimmed = state.trimmed,
        bus_trimmed = state.bus_trimmed, start = pg_postmaster_start_time(), ticked_at = clock_timestamp();
END
$$;

COMMENT ON FUNCTION howdah_internal._trim_log(timestamptz) IS
'Internal. Once a second: removes from the change log what every program has seen
that asked within the last 30 seconds, and old messages (_trim_bus). It begins nothing new
after the deadline. One at a time; others do nothing.';

REVOKE ALL ON FUNCTION howdah_internal._trim_log(timestamptz) FROM PUBLIC;
