CREATE OR REPLACE FUNCTION howdah.session_touch(
    ids uuid[], ages interval[] DEFAULT NULL, OUT touched bigint, OUT locked uuid[]
)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- Locks first, by id: the order of every statement on many sessions. A row
    -- that another transaction holds is not waited for.
    WITH due AS MATERIALIZED (
        SELECT s.id, u.used
        FROM (SELECT i.id, statement_timestamp() - greatest(min(coalesce(i.age, interval '0')), interval '0') AS used
              FROM unnest(ids, ages) AS i (id, age)
              GROUP BY i.id) AS u
        JOIN howdah.session AS s ON s.id = u.id
        WHERE s.idle_expires_at > statement_timestamp()
          AND howdah._session_due(s, u.used)
    ), held AS MATERIALIZED (
        SELECT s.id, d.used
        FROM due AS d
        JOIN howdah.session AS s ON s.id = d.id
        ORDER BY s.id
        FOR NO KEY UPDATE OF s SKIP LOCKED
    ), done AS (
        UPDATE howdah.session AS s
        SET last_seen_at    = greatest(s.last_seen_at, h.used),
            idle_expires_at = howdah._session_expiry(s, h.used)
        FROM held AS h
        WHERE s.id = h.id
        RETURNING s.id
    )
    SELECT count(done.id), coalesce(array_agg(due.id) FILTER (WHERE done.id IS NULL), '{}')
    INTO touched, locked
    FROM due
    LEFT JOIN done ON done.id = due.id;
END
$$;

COMMENT ON FUNCTION howdah.session_touch(uuid[], interval[]) IS
'Remembers that sessions were used. Writes only where what is stored falls short of
the promise of that use, never beyond the absolute limit, never to a session that
has expired or was revoked. The version of a session stays.

Call it with many ids, 50000 at most, every 30 to 60 seconds, in a transaction of
its own after SET LOCAL synchronous_commit = off.

ids: sessions in any order.
ages: how long ago each was used last; NULL: now.

Returns touched, the number of sessions written, and locked, those that another
transaction held: call again for them.';

REVOKE ALL ON FUNCTION howdah.session_touch(uuid[], interval[]) FROM PUBLIC;
