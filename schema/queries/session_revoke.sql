-- Ends a session, whosever it is: whether it was alive.
--   $1 id
SELECT howdah.session_revoke($1::uuid)
