-- Ends a session of a user: whether there was one, alive.
--   $1 id, $2 user
SELECT howdah.session_revoke($1::uuid, $2::text)
