CREATE OR REPLACE FUNCTION howdah_internal._maintain_sessions(
    max_rows    bigint,
    max_blocks  bigint,
    deadline    timestamptz,
    held_back   boolean,
    OUT expired bigint,
    OUT blocks  bigint,
    OUT more    boolean
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    last  CONSTANT bigint := least(
        pg_relation_size('howdah.session') / current_setting('block_size')::bigint, max_blocks);
    batch CONSTANT bigint := 1000;  -- rows that one statement removes
    step  CONSTANT bigint := 512;   -- blocks that it looks at
    round record;
BEGIN
    expired := 0; blocks := 0; more := false;
    WHILE blocks < last LOOP
        IF expired >= max_rows OR blocks + expired > 0 AND clock_timestamp() >= deadline THEN
            more := expired > 0;
            EXIT;
        END IF;
        SELECT e.expired, e.more INTO round
        FROM howdah.session_expire(
            max_rows   => least(batch, max_rows - expired)::integer,
            max_blocks => least(step, last - blocks)::integer) AS e;
        expired := expired + round.expired;
        IF NOT round.more THEN  -- else the same blocks again
            blocks := least(blocks + step, last);
        END IF;
    END LOOP;
    INSERT INTO howdah.upkeep AS u (cache, expired, last_round, held_back_since)
    VALUES ('howdah.session', expired, clock_timestamp(), CASE WHEN held_back THEN clock_timestamp() END)
    ON CONFLICT ON CONSTRAINT upkeep_pkey DO UPDATE
    SET expired = u.expired + excluded.expired, last_round = excluded.last_round,
        held_back_since = CASE WHEN held_back THEN coalesce(u.held_back_since, excluded.last_round) END;
END
$$;

COMMENT ON FUNCTION howdah_internal._maintain_sessions(bigint, bigint, timestamptz, boolean) IS
'Internal. The round of howdah.maintain on the sessions.';

REVOKE ALL ON FUNCTION howdah_internal._maintain_sessions(bigint, bigint, timestamptz, boolean) FROM PUBLIC;
