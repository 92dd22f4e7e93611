CREATE OR REPLACE FUNCTION howdah.session_touch(
    ids uuid[], ages interval[] DEFAULT NULL, OUT touched bigint, OUT locked uuid[]
)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- By lookups of ids, whatever the planner thinks of the table: once VACUUM
    -- has seen it empty, to read all of it seems to cost as little.
    WITH used AS MATERIALIZED (
        SELECT i.id, statement_timestamp() - greatest(min(coalesce(i.age, interval '0')), interval '0') AS at
        FROM unnest(ids, ages) AS i (id, age)
        GROUP BY i.id
    ), held AS MATERIALIZED (
        -- A row that another transaction holds is not waited for.
        SELECT s.*
        FROM used AS u
        CROSS JOIN LATERAL (
            SELECT s.id, s.secret_hash, s.absolute_expires_at,
                   greatest(s.last_seen_at, u.at) AS last_seen_at,
                   howdah_internal._session_expiry(s, u.at) AS idle_expires_at
            FROM howdah.session AS s
            WHERE s.id = u.id
              AND s.idle_expires_at > statement_timestamp()
              AND howdah_internal._session_due(s, u.at)
            FOR NO KEY UPDATE SKIP LOCKED) AS s
    ), done AS (
        -- They are there and locked: none is inserted.
        INSERT INTO howdah.session AS s (id, secret_hash, last_seen_at, idle_expires_at, absolute_expires_at)
        SELECT h.id, h.secret_hash, h.last_seen_at, h.idle_expires_at, h.absolute_expires_at
        FROM held AS h
        ON CONFLICT ON CONSTRAINT session_pkey DO UPDATE
        SET last_seen_at    = excluded.last_seen_at,
            idle_expires_at = excluded.idle_expires_at
        RETURNING s.id
    )
    SELECT (SELECT count(*) FROM done),
           ARRAY(SELECT u.id
                 FROM used AS u
                 WHERE u.id NOT IN (SELECT d.id FROM done AS d)
                   AND (SELECT s.idle_expires_at > statement_timestamp() AND howdah_internal._session_due(s, u.at)
                        FROM howdah.session AS s
                        WHERE s.id = u.id))
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
