CREATE OR REPLACE FUNCTION howdah.session_list(user_id text) RETURNS SETOF howdah.sessions
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT s.* FROM howdah.sessions AS s WHERE s.user_id = session_list.user_id ORDER BY s.created_at DESC, s.id;
END;

COMMENT ON FUNCTION howdah.session_list(text) IS
'The live sessions of a user, newest first: rows of the view howdah.sessions, which
shows those of everybody.';

REVOKE ALL ON FUNCTION howdah.session_list(text) FROM PUBLIC;
