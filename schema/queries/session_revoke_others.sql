-- Ends all sessions of a user but one: how many were alive.
--   $1 user, $2 id of the one that stays
SELECT howdah.session_revoke_user($1::text, $2::uuid)
