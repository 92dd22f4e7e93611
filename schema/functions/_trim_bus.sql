CREATE OR REPLACE FUNCTION howdah_internal._trim_bus(tick bigint, trimmed pg_snapshot, deadline timestamptz) RETURNS pg_snapshot
LANGUAGE plpgsql VOLATILE
-- What PostgreSQL knows of the table is out of date within a second.
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
    -- A process that asks once in so many ticks (seconds) misses nothing.
    keep      CONSTANT bigint  := CASE WHEN pg_table_size('howdah_internal.bus'::regclass) <= 1073741824 THEN 10 ELSE 3 END;
    batch     CONSTANT integer := 1000;
    max_bytes CONSTANT bigint  := 16777216;
    horizon   pg_snapshot;
    last_xid  xid8   := '0';
    last_id   bigint := 0;
BEGIN
    SELECT t.snapshot INTO horizon FROM howdah_internal.change_tick AS t
    WHERE t.tick <= _trim_bus.tick - keep
    ORDER BY t.tick DESC LIMIT 1;
    IF horizon IS NULL THEN
        RETURN trimmed;
    END IF;

    -- Behind the horizon: after a restart every process has had time to renew its row.
    -- Five ticks are five seconds in which PostgreSQL answered.
    DELETE FROM howdah_internal.server AS s
    WHERE s.id = ANY (ARRAY(
        SELECT o.id FROM howdah_internal.server AS o
        WHERE o.renewed_at < statement_timestamp() - interval '15 seconds'
          AND o.tick NOT BETWEEN _trim_bus.tick - 5 AND _trim_bus.tick
        ORDER BY o.id
        FOR UPDATE SKIP LOCKED));

    -- What the horizon shows and the older snapshot does not. So rows that were removed are
    -- not looked at again while an open transaction keeps VACUUM from them, and what is sent
    -- long before its commit stays as long as the rest.
    LOOP
        WITH old AS MATERIALIZED (
            SELECT o.ctid, o.xid, o.id, o.bytes FROM (
                (SELECT b.ctid, b.xid, b.id, b.bytes
                 FROM pg_snapshot_xip(trimmed) AS late (xid)
                 CROSS JOIN LATERAL (
                     SELECT l.ctid, l.xid, l.id, pg_column_size(l.payloads) AS bytes FROM howdah_internal.bus AS l
                     WHERE l.xid = late.xid AND l.id > CASE WHEN late.xid = last_xid THEN last_id ELSE 0 END
                     ORDER BY l.id LIMIT batch) AS b
                 WHERE late.xid >= last_xid AND pg_visible_in_snapshot(late.xid, horizon))
                UNION ALL
                -- One lower bound: of two, PostgreSQL may begin its search at the wrong one.
                (SELECT b.ctid, b.xid, b.id, pg_column_size(b.payloads) FROM howdah_internal.bus AS b
                 WHERE (b.xid, b.id) > (greatest(pg_snapshot_xmax(trimmed), last_xid),
                                        CASE WHEN last_xid >= pg_snapshot_xmax(trimmed) THEN last_id ELSE 0 END)
                   AND b.xid < pg_snapshot_xmax(horizon) AND pg_visible_in_snapshot(b.xid, horizon)
                 ORDER BY b.xid, b.id LIMIT batch)) AS o
            ORDER BY o.xid, o.id LIMIT batch
        ),
        chosen AS MATERIALIZED (
            SELECT w.* FROM (
                SELECT o.*, sum(o.bytes) OVER (ORDER BY o.xid, o.id) - o.bytes AS before FROM old AS o) AS w
            WHERE w.before < max_bytes
        ),
        gone AS (
            DELETE FROM howdah_internal.bus AS b WHERE b.ctid = ANY (ARRAY(SELECT c.ctid FROM chosen AS c))
        )
        SELECT c.xid, c.id INTO last_xid, last_id
        FROM chosen AS c ORDER BY c.xid DESC, c.id DESC LIMIT 1;
        IF NOT FOUND THEN
            RETURN horizon;
        END IF;
        EXIT WHEN clock_timestamp() >= deadline;
    END LOOP;
    RETURN trimmed;  -- the next call finds the rest
END
$$;

COMMENT ON FUNCTION howdah_internal._trim_bus(bigint, pg_snapshot, timestamptz) IS
'Internal. Removes the messages that were there 10 ticks ago, 3 while the table is
larger than 1 GiB, and the processes that have not renewed their row for 15 seconds and
5 ticks. It begins nothing new after the deadline.

trimmed: a snapshot that shows no message. Returns the new value of that.';

REVOKE ALL ON FUNCTION howdah_internal._trim_bus(bigint, pg_snapshot, timestamptz) FROM PUBLIC;
