CREATE OR REPLACE FUNCTION howdah.session_expire(
    max_rows integer DEFAULT 5000, max_blocks integer DEFAULT 16384, OUT expired bigint, OUT more boolean
)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    step    CONSTANT bigint := 256;
    blocks  bigint := pg_relation_size('howdah.session') / current_setting('block_size')::bigint;
    hand    bigint;
    walked  bigint := 0;
    deleted bigint;
BEGIN
    IF max_rows IS NULL OR max_blocks IS NULL OR max_rows < 1 OR max_blocks < 1 THEN
        RAISE EXCEPTION 'The limits max_rows = % and max_blocks = % are not both positive.', max_rows, max_blocks
            USING ERRCODE = 'HW012', HINT = 'Give positive numbers, or leave them out.';
    END IF;
    expired := 0;
    more := false;
    -- One process at a time; whoever comes second has nothing to do.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('howdah.session_expire', 0)) THEN
        RETURN;
    END IF;
    SELECT h.block INTO hand FROM howdah.session_hand AS h;
    WHILE walked < least(blocks, max_blocks) LOOP
        IF hand >= blocks THEN
            hand := 0;
        END IF;
        -- A TID range scan: it reads these blocks and no index. What somebody
        -- holds is left for the next lap.
        DELETE FROM howdah.session AS s
        WHERE s.ctid = ANY (ARRAY(
            SELECT d.ctid
            FROM howdah.session AS d
            WHERE d.ctid >= format('(%s,0)', hand)::tid
              AND d.ctid < format('(%s,0)', hand + step)::tid
              AND d.idle_expires_at <= statement_timestamp()
              AND (d.idle_expires_at > '-infinity' OR d.absolute_expires_at <= statement_timestamp())
            LIMIT max_rows - expired
            FOR UPDATE SKIP LOCKED));
        GET DIAGNOSTICS deleted = ROW_COUNT;
        expired := expired + deleted;
        IF expired >= max_rows THEN
            more := true;
            EXIT;
        END IF;
        hand := hand + step;
        walked := walked + step;
    END LOOP;
    UPDATE howdah.session_hand AS h SET block = hand WHERE h.block <> hand;
END
$$;

COMMENT ON FUNCTION howdah.session_expire(integer, integer) IS
'One bounded round of upkeep: removes expired sessions. Reads never show them, so
this is about space alone. Rounds go around the table; one runs at a time, and a
second one at the same time returns at once.

max_rows: removes at most this many.
max_blocks: reads at most this many blocks of 8 KiB.

Returns expired, how many it removed, and more, true if max_rows stopped it.
Errors: HW012 invalid limit.';

REVOKE ALL ON FUNCTION howdah.session_expire(integer, integer) FROM PUBLIC;
