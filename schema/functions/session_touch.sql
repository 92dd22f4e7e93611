CREATE OR REPLACE FUNCTION howdah.session_touch(
    ids uuid[], ages interval[] DEFAULT NULL, OUT touched bigint, OUT locked uuid[]
)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    WITH used AS MATERIALIZED (
        SELECT i.id, statement_timestamp() - greatest(min(coalesce(i.age, interval '0')), interval '0') AS at
        FROM unnest(ids, ages) AS i (id, age)
        GROUP BY i.id
    ), held AS MATERIALIZED (
        -- Locks first, by id: the order of every statement on many sessions. A
        -- row that another transaction holds is not waited for.
        SELECT s.id, u.at
        FROM used AS u
        JOIN howdah.session AS s ON s.id = u.id
        WHERE s.idle_expires_at > statement_timestamp()
          AND howdah._session_due(s, u.at)
        ORDER BY s.id
        FOR NO KEY UPDATE OF s SKIP LOCKED
    ), done AS (
        UPDATE howdah.session AS s
        SET last_seen_at    = greatest(s.last_seen_at, h.at),
            idle_expires_at = howdah._session_expiry(s, h.at)
        FROM held AS h
        WHERE s.id = h.id
        RETURNING s.id
    )
    SELECT (SELECT count(*) FROM done),
           ARRAY(SELECT s.id
                 FROM used AS u
                 JOIN howdah.session AS s ON s.id = u.id
                 WHERE NOT EXISTS (SELECT FROM done AS d WHERE d.id = u.id)
                   AND s.idle_expires_at > statement_timestamp()
                   AND howdah._session_due(s, u.at))
    INTO touched, locked;
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
