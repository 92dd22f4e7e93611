CREATE OR REPLACE FUNCTION howdah.session_revoke(id uuid, user_id text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    expiry timestamptz;
BEGIN
    -- What session_put stored would be stored again by the next request.
    IF substr(id::text, 15, 1) = '8' AND user_id IS NULL THEN
        RETURN howdah.session_bury(id);
    END IF;
    DELETE FROM howdah.session AS s
    WHERE s.id = session_revoke.id
      AND (session_revoke.user_id IS NULL OR s.user_id = session_revoke.user_id)
    RETURNING s.idle_expires_at INTO expiry;
    RETURN coalesce(expiry > statement_timestamp(), false);
END
$$;

COMMENT ON FUNCTION howdah.session_revoke(uuid, text) IS
'Ends a session by its id, without its token: for an administrator, and for users
who look at the list of their sessions.

id: as in howdah.sessions.
user_id: only if it is a session of this user; NULL: whosever it is.

Returns true if there was such a live session.';

REVOKE ALL ON FUNCTION howdah.session_revoke(uuid, text) FROM PUBLIC;
