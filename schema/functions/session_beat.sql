CREATE OR REPLACE FUNCTION howdah.session_beat(reader uuid, beat bigint) RETURNS timestamptz
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Processes that have not been heard of for a day are no more. Locks first:
    -- two processes that find the same rows must not wait for each other.
    WITH gone AS MATERIALIZED (
        SELECT r.reader
        FROM howdah.session_reader AS r
        WHERE r.seen_at < statement_timestamp() - interval '1 day'
          AND r.reader <> session_beat.reader
        FOR UPDATE SKIP LOCKED
    ), removed AS (
        DELETE FROM howdah.session_reader AS r USING gone AS g WHERE r.reader = g.reader
    )
    INSERT INTO howdah.session_reader AS r (reader, beat, seen_at)
    VALUES (session_beat.reader, session_beat.beat, statement_timestamp())
    ON CONFLICT ON CONSTRAINT session_reader_pkey DO UPDATE
    SET beat = excluded.beat, seen_at = excluded.seen_at
    RETURNING r.seen_at
$$;

COMMENT ON FUNCTION howdah.session_beat(uuid, bigint) IS
'The heartbeat of a process that reads sessions from standbys: a standby whose row
of howdah.session_reader shows this beat shows all that was committed before the
call. The process remembers when it made the call, and asks the primary where a
standby''s beat is too old.

Call it in a transaction of its own after SET LOCAL synchronous_commit = local: it
must not wait for the standbys that it is to judge.

reader: a UUID that the process chose for itself.
beat: a number that it has not used before.

Returns the time by the primary''s clock.';

REVOKE ALL ON FUNCTION howdah.session_beat(uuid, bigint) FROM PUBLIC;
