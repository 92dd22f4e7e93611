CREATE OR REPLACE FUNCTION howdah.session_revoke_user(user_id text, keep uuid DEFAULT NULL) RETURNS bigint
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Locks first, by id: the order of every statement on many sessions.
    WITH doomed AS MATERIALIZED (
        SELECT s.id
        FROM howdah.session AS s
        WHERE s.user_id = session_revoke_user.user_id
          AND s.id IS DISTINCT FROM keep
        ORDER BY s.id
        FOR UPDATE
    ), ended AS (
        DELETE FROM howdah.session AS s
        WHERE s.id = ANY (ARRAY(SELECT d.id FROM doomed AS d))
        RETURNING s.idle_expires_at
    )
    SELECT count(*) FROM ended AS e WHERE e.idle_expires_at > statement_timestamp()
$$;

COMMENT ON FUNCTION howdah.session_revoke_user(text, uuid) IS
'Ends all sessions of a user: log out everywhere.

user_id: whose.
keep: the id of a session that stays, or NULL.

Returns how many live sessions it ended.';

REVOKE ALL ON FUNCTION howdah.session_revoke_user(text, uuid) FROM PUBLIC;
