-- Ends all sessions of a user: how many were alive.
--   $1 user
SELECT howdah.session_revoke_user($1::text)
