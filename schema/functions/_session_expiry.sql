CREATE OR REPLACE FUNCTION howdah_internal._session_expiry(session howdah.session, used timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN least(greatest(session.idle_expires_at,
                      used + (session.idle_seconds::bigint + session.skip_seconds) * interval '1 second'),
             session.absolute_expires_at);

COMMENT ON FUNCTION howdah_internal._session_expiry(howdah.session, timestamptz) IS
'Internal. What to store for a use at that time: the promise and, so that the next
uses need no write, skip_seconds more; nothing beyond the absolute limit, and never
less than is stored.';

REVOKE ALL ON FUNCTION howdah_internal._session_expiry(howdah.session, timestamptz) FROM PUBLIC;
