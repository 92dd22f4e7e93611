CREATE OR REPLACE FUNCTION howdah_internal._session_due(session howdah.session, used timestamptz) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN session.idle_expires_at
       < least(used + session.idle_seconds * interval '1 second', session.absolute_expires_at);

COMMENT ON FUNCTION howdah_internal._session_due(howdah.session, timestamptz) IS
'Internal. Whether what is stored falls short of what a use at that time promises.
Without an idle timeout it never does: least() passes over NULL.';

REVOKE ALL ON FUNCTION howdah_internal._session_due(howdah.session, timestamptz) FROM PUBLIC;
